// Where the processes of one command leave the kernels that they compiled for each other.
#pragma once

#include <cstdlib>
#include <optional>

#include "base/temporary_folder.hpp"

namespace jitterscope {

inline constexpr const char* kKernelFolderVariable = "JITTERSCOPE_KERNEL_FOLDER";

/// While it lives, processes that are started find the folder's name in their environment. Where none can be
/// made, each of them compiles for itself.
class KernelFolder {
 public:
  KernelFolder() {
    try {
      ::setenv(kKernelFolderVariable, folder_.emplace().path().c_str(), 1);
    } catch (const FailedError&) {  // a full or read-only disk is no reason not to measure
    }
  }
  ~KernelFolder() { ::unsetenv(kKernelFolderVariable); }
  KernelFolder(const KernelFolder&) = delete;
  KernelFolder& operator=(const KernelFolder&) = delete;

 private:
  std::optional<TemporaryFolder> folder_;
};

}  // namespace jitterscope
