// NVIDIA's libraries as tables of functions: opened once, complete or with the reason why not.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/shared_library.hpp"

namespace jitterscope {

/// A struct of function pointers with the library that they come from; nothing where there is a problem.
template <class Functions>
struct FunctionTable {
  std::optional<Functions> functions;
  std::string path, problem;
};

/// `look_up` fills the struct and returns the name of a function that the library lacks, or null.
template <class Functions>
FunctionTable<Functions> open_functions(const std::vector<std::string>& names,
                                        const char* (*look_up)(Functions&)) {
  FunctionTable<Functions> table;
  std::string answer;
  auto library = SharedLibrary::open(names, nvidia_library_folders(), &answer);
  if (!library) {
    table.problem = fmt::format("{} was not found ({})", fmt::join(names, " or "), answer);
    return table;
  }
  table.path = library->path();
  Functions functions{.library = *std::move(library)};
  if (const char* missing = look_up(functions)) {
    table.problem = fmt::format("{} lacks {}", table.path, missing);
  } else {
    table.functions = std::move(functions);
  }
  return table;
}

/// The body of a look_up: one entry of a list of functions, each by the name that it is declared with.
#define JITTERSCOPE_LOOK_UP(name)                                                                \
  functions.name =                                                                               \
      functions.library.template find_function<std::remove_pointer_t<decltype(&::name)>>(#name); \
  if (functions.name == nullptr) return #name;

}  // namespace jitterscope
