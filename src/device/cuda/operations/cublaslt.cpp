#include "device/cuda/operations/cublaslt.hpp"

#include <fmt/format.h>

#include "base/function_table.hpp"
#include "device/cuda/library_names.hpp"
#include "device/cuda/operations/handle_cache.hpp"
#include "device/cuda/operations/operations.hpp"
#include "jitterscope/error.hpp"

namespace jitterscope::cuda {
namespace {

const char* look_up_cublaslt(CublasLt& functions) {
  JITTERSCOPE_CUBLASLT_FUNCTIONS(JITTERSCOPE_LOOK_UP)
  return nullptr;
}

const FunctionTable<CublasLt>& opened_cublaslt() {
  static const FunctionTable<CublasLt> opened =
      open_functions(names_for_driver({"libcublasLt.so.13", "libcublasLt.so.12"}), look_up_cublaslt);
  return opened;
}

}  // namespace

const CublasLt& cublaslt() {
  const auto& opened = opened_cublaslt();
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
  const auto& opened = opened_cublaslt();
  LibraryInfo info{.name = "cublaslt", .version = "", .path = opened.path, .problem = opened.problem};
  if (opened.functions) {
    const std::size_t version = opened.functions->cublasLtGetVersion();
    info.version = fmt::format("{}.{}.{}", version / 10000, version / 100 % 100, version % 100);
  }
  return info;
}

}  // namespace jitterscope::cuda
