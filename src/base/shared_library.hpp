// Libraries opened at run time, so that one binary runs with and without them.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace jitterscope {

/// A library opened by dlopen. It stays open for the life of the process: CUDA's libraries keep threads
/// and exit handlers that must not be unmapped.
class SharedLibrary {
 public:
  /// By preference a copy that the process has loaded already (a process that holds PyTorch has its
  /// own); then in each of `folders` each name in order, and at last each name by the loader's search path. A
  /// folder goes before a newer version elsewhere, since a system may have another CUDA than its PyTorch runs
  /// with, and other engines.
  /// Nothing where none opens; `problem` then says what the loader answered.
  static std::optional<SharedLibrary> open(const std::vector<std::string>& names,
                                           const std::vector<std::string>& folders, std::string* problem);

  /// Address of a symbol, or null.
  void* find(const char* symbol) const;
  template <class Function>
  Function* find_function(const char* symbol) const {
    return reinterpret_cast<Function*>(find(symbol));
  }
  /// The file that was opened, as the loader knows it.
  const std::string& path() const { return path_; }

 private:
  SharedLibrary(void* handle, std::string path) : handle_(handle), path_(std::move(path)) {}
  void* handle_;
  std::string path_;
};

/// Folders where NVIDIA's libraries are found beside the loader's own search path, most specific first:
/// JITTERSCOPE_LIBRARY_PATH (colon-separated), the nvidia wheels of the python3 on PATH and of
/// $VIRTUAL_ENV, $CUDA_HOME/lib64, /usr/local/cuda/lib64 and its extras/CUPTI/lib64. Only those that exist.
std::vector<std::string> nvidia_library_folders();

// NVIDIA's libraries as tables of functions: opened once, complete or with the reason why not.

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
