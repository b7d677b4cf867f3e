// Libraries opened at run time, so that one binary runs with and without them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
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

}  // namespace jitterscope
