#include "device/cuda/operations/cudnn.hpp"

#include <fmt/format.h>

#include <array>

#include "base/function_table.hpp"
#include "device/cuda/library_names.hpp"
#include "device/cuda/operations/handle_cache.hpp"
#include "device/cuda/operations/operations.hpp"
#include "jitterscope/error.hpp"

namespace jitterscope::cuda {
namespace {

const char* look_up_cudnn(Cudnn& functions) {
  JITTERSCOPE_CUDNN_FUNCTIONS(JITTERSCOPE_LOOK_UP)
  return nullptr;
}

FunctionTable<Cudnn> open_cudnn() {
  const std::vector<std::string> folders = nvidia_library_folders();
  // cuDNN's engine libraries look for these two among what is loaded, and a wheel's copy is on no search
  // path.
  SharedLibrary::open(names_for_driver({"libcublasLt.so.13", "libcublasLt.so.12"}), folders, nullptr);
  SharedLibrary::open(names_for_driver({"libnvrtc.so.13", "libnvrtc.so.12"}), folders, nullptr);
  FunctionTable<Cudnn> table = open_functions({"libcudnn.so.9"}, look_up_cudnn);
  if (!table.path.empty() && !table.problem.empty()) table.problem += ": cuDNN 9.0 or newer is needed";
  return table;
}

const FunctionTable<Cudnn>& opened_cudnn() {
  static const FunctionTable<Cudnn> opened = open_cudnn();
  return opened;
}

}  // namespace

const Cudnn& cudnn() {
  const auto& opened = opened_cudnn();
  if (opened.functions) return *opened.functions;
  throw MissingError(
      "convolutions, batch normalization and attention need cuDNN 9, and " + opened.problem +
      "; install it (pip install nvidia-cudnn-cu13, or nvidia-cudnn-cu12 for CUDA 12) or name its "
      "folder in JITTERSCOPE_LIBRARY_PATH");
}

cudnnHandle_t cudnn_handle() {
  static HandleCache<cudnnHandle_t> handles;
  return handles.get([] {
    cudnnHandle_t handle = nullptr;
    check_cudnn(cudnn().cudnnCreate(&handle), "cudnnCreate");
    return handle;
  });
}

std::string cudnn_version() {
  const std::size_t version = cudnn().cudnnGetVersion();
  return fmt::format("{}.{}.{}", version / 10000, version / 100 % 100, version % 100);
}

std::string cudnn_failure(cudnnStatus_t status) {
  std::array<char, 1024> detail{};
  cudnn().cudnnGetLastErrorString(detail.data(), detail.size());
  std::string text = cudnn().cudnnGetErrorString(status);
  if (detail[0] != '\0') text += fmt::format(" ({})", detail.data());
  return text;
}

void check_cudnn(cudnnStatus_t status, std::string_view what) {
  if (status == CUDNN_STATUS_SUCCESS) return;
  throw FailedError(fmt::format("{}: {}", what, cudnn_failure(status)));
}

LibraryInfo cudnn_library() {
  const auto& opened = opened_cudnn();
  LibraryInfo info{.name = "cudnn", .version = "", .path = opened.path, .problem = opened.problem};
  if (opened.functions) info.version = cudnn_version();
  return info;
}

}  // namespace jitterscope::cuda
