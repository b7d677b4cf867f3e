#include "device/cuda/operations/cublaslt.hpp"

#include <fmt/format.h>

#include <optional>

#include "device/cuda/operations/handle_cache.hpp"
#include "device/cuda/operations/operations.hpp"
#include "jitterscope/error.hpp"

namespace jitterscope::cuda {
namespace {

struct Opened {
  std::optional<CublasLt> functions;
  std::string path, problem;
};

Opened open_cublaslt() {
  Opened opened;
  std::string answer;
  auto library =
      SharedLibrary::open({"libcublasLt.so.13", "libcublasLt.so.12"}, nvidia_library_folders(), &answer);
  if (!library) {
    opened.problem = "neither libcublasLt.so.13 nor libcublasLt.so.12 was found (" + answer + ")";
    return opened;
  }
  opened.path = library->path();
  CublasLt functions{.library = *library};
  const char* missing = nullptr;
#define JITTERSCOPE_LOOK_UP(name)                                                           \
  functions.name = library->find_function<std::remove_pointer_t<decltype(&::name)>>(#name); \
  if (functions.name == nullptr) missing = #name;
  JITTERSCOPE_CUBLASLT_FUNCTIONS(JITTERSCOPE_LOOK_UP)
#undef JITTERSCOPE_LOOK_UP
  if (missing != nullptr) {
    opened.problem = fmt::format("{} lacks {}", opened.path, missing);
  } else {
    opened.functions = std::move(functions);
  }
  return opened;
}

const Opened& opened_cublaslt() {
  static const Opened opened = open_cublaslt();
  return opened;
}

}  // namespace

const CublasLt& cublaslt() {
  const Opened& opened = opened_cublaslt();
  if (opened.functions) return *opened.functions;
  throw MissingError(
      "matrix products need cuBLASLt, and " + opened.problem +
      "; install it (pip install nvidia-cublas, or nvidia-cublas-cu12 for CUDA 12) or name its folder "
      "in JITTERSCOPE_LIBRARY_PATH");
}

cublasLtHandle_t cublaslt_handle() {
  static HandleCache<cublasLtHandle_t> handles;
  return handles.get([] {
    cublasLtHandle_t handle = nullptr;
    check_cublaslt(cublaslt().cublasLtCreate(&handle), "cublasLtCreate");
    return handle;
  });
}

void check_cublaslt(cublasStatus_t status, std::string_view what) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  throw FailedError(fmt::format("{}: {}", what, cublaslt().cublasLtGetStatusString(status)));
}

LibraryInfo cublaslt_library() {
  const Opened& opened = opened_cublaslt();
  LibraryInfo info{.name = "cublaslt", .version = "", .path = opened.path, .problem = opened.problem};
  if (opened.functions) {
    const std::size_t version = opened.functions->cublasLtGetVersion();
    info.version = fmt::format("{}.{}.{}", version / 10000, version / 100 % 100, version % 100);
  }
  return info;
}

}  // namespace jitterscope::cuda
