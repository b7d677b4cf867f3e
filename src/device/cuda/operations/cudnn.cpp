#include "device/cuda/operations/cudnn.hpp"

#include <fmt/format.h>

#include <array>
#include <optional>

#include "device/cuda/operations/handle_cache.hpp"
#include "device/cuda/operations/operations.hpp"
#include "jitterscope/error.hpp"

namespace jitterscope::cuda {
namespace {

struct Opened {
  std::optional<Cudnn> functions;
  std::string path, problem;
};

Opened open_cudnn() {
  const std::vector<std::string> folders = nvidia_library_folders();
  // cuDNN's engine libraries look for these two among what is loaded, and a wheel's copy is on no search
  // path.
  SharedLibrary::open({"libcublasLt.so.13", "libcublasLt.so.12"}, folders, nullptr);
  SharedLibrary::open({"libnvrtc.so.13", "libnvrtc.so.12"}, folders, nullptr);
  Opened opened;
  std::string answer;
  auto library = SharedLibrary::open({"libcudnn.so.9"}, folders, &answer);
  if (!library) {
    opened.problem = "libcudnn.so.9 was not found (" + answer + ")";
    return opened;
  }
  opened.path = library->path();
  Cudnn functions{.library = *library};
  const char* missing = nullptr;
#define JITTERSCOPE_LOOK_UP(name)                                                           \
  functions.name = library->find_function<std::remove_pointer_t<decltype(&::name)>>(#name); \
  if (functions.name == nullptr) missing = #name;
  JITTERSCOPE_CUDNN_FUNCTIONS(JITTERSCOPE_LOOK_UP)
#undef JITTERSCOPE_LOOK_UP
  if (missing != nullptr) {
    opened.problem = fmt::format("{} lacks {}: cuDNN 9.0 or newer is needed", opened.path, missing);
  } else {
    opened.functions = std::move(functions);
  }
  return opened;
}

const Opened& opened_cudnn() {
  static const Opened opened = open_cudnn();
  return opened;
}

}  // namespace

const Cudnn& cudnn() {
  const Opened& opened = opened_cudnn();
  if (opened.functions) return *opened.functions;
  throw MissingError(
      "convolutions need cuDNN 9, and " + opened.problem +
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
  const Opened& opened = opened_cudnn();
  LibraryInfo info{.name = "cudnn", .version = "", .path = opened.path, .problem = opened.problem};
  if (opened.functions) {
    const std::size_t version = opened.functions->cudnnGetVersion();
    info.version = fmt::format("{}.{}.{}", version / 10000, version / 100 % 100, version % 100);
  }
  return info;
}

}  // namespace jitterscope::cuda
