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

/// A library opened by dlopen. It stays open for the life of the process, because CUDA's libraries keep
/// threads and exit handlers that must not be unmapped.
class SharedLibrary {
 public:
  /// Prefers a copy that the process has already loaded (a process with PyTorch has its own). Then tries each
  /// name in each of `folders`, in order, and finally each name on the loader's search path. A folder goes
  /// before a newer version elsewhere, since a system may have another CUDA, with other engines, than its
  /// PyTorch runs with. Returns nullopt if none opens; `problem` then has the loader's message.
  static std::optional<SharedLibrary> open(const std::vector<std::string>& names,
                                           const std::vector<std::string>& folders, std::string* problem);

  /// Returns the address of a symbol, or null.
  void* find(const char* symbol) const;
  template <class Function>
  Function* find_function(const char* symbol) const {
    return reinterpret_cast<Function*>(find(symbol));
  }
  /// The opened file, as the loader knows it.
  const std::string& path() const { return path_; }

 private:
  SharedLibrary(void* handle, std::string path) : handle_(handle), path_(std::move(path)) {}
  void* handle_;
  std::string path_;
};

/// Returns existing folders with NVIDIA's libraries beside the loader's search path, most specific first:
/// JITTERSCOPE_LIBRARY_PATH (colon-separated), the nvidia wheels of the python3 on PATH and of $VIRTUAL_ENV,
/// $CUDA_HOME/lib64, /usr/local/cuda/lib64 and its extras/CUPTI/lib64.
std::vector<std::string> nvidia_library_folders();

/// Throws MissingError "`purpose`, and `problem`; install it (pip install `packages`) …".
[[noreturn]] void fail_missing_library(std::string_view purpose, const std::string& problem,
                                       std::string_view packages);

/// A struct of function pointers with their library; nullopt if there is a problem.
template <class Functions>
struct FunctionTable {
  std::optional<Functions> functions;
  std::string path, problem;

  /// `purpose` says what needs the library ("matrix products need cuBLASLt"), `packages` which wheels have
  /// it.
  const Functions& require(std::string_view purpose, std::string_view packages) const {
    if (!functions) fail_missing_library(purpose, problem, packages);
    return *functions;
  }
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

/// One entry of a look_up's body: looks a function up by the name that it is declared with.
#define JITTERSCOPE_LOOK_UP(name)                                                                \
  functions.name =                                                                               \
      functions.library.template find_function<std::remove_pointer_t<decltype(&::name)>>(#name); \
  if (functions.name == nullptr) return #name;

}  // namespace jitterscope
