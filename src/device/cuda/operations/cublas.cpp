#include "device/cuda/operations/cublas.hpp"

#include <fmt/format.h>

#include "base/function_table.hpp"
#include "device/cuda/library_names.hpp"
#include "device/cuda/operations/handle_cache.hpp"
#include "device/cuda/operations/operations.hpp"
#include "jitterscope/error.hpp"

namespace jitterscope::cuda {
namespace {

const char* look_up_cublas(Cublas& functions) {
  JITTERSCOPE_CUBLAS_FUNCTIONS(JITTERSCOPE_LOOK_UP)
  functions.cublasGemmEx = functions.library.find_function<GemmEx>("cublasGemmEx");
  functions.cublasGemmStridedBatchedEx =
      functions.library.find_function<GemmStridedBatchedEx>("cublasGemmStridedBatchedEx");
  return functions.cublasGemmEx == nullptr || functions.cublasGemmStridedBatchedEx == nullptr ? "cublasGemmEx"
                                                                                              : nullptr;
}

const FunctionTable<Cublas>& opened_cublas() {
  static const FunctionTable<Cublas> opened =
      open_functions(names_for_driver({"libcublas.so.13", "libcublas.so.12"}), look_up_cublas);
  return opened;
}

}  // namespace

const Cublas& cublas() {
  const auto& opened = opened_cublas();
  if (opened.functions) return *opened.functions;
  throw MissingError(
      "matrix products without bias need cuBLAS, and " + opened.problem +
      "; install it (pip install nvidia-cublas, or nvidia-cublas-cu12 for CUDA 12) or name its folder "
      "in JITTERSCOPE_LIBRARY_PATH");
}

cublasHandle_t cublas_handle() {
  static HandleCache<cublasHandle_t> handles;
  return handles.get([] {
    cublasHandle_t handle = nullptr;
    check_cublas(cublas().cublasCreate_v2(&handle), "cublasCreate");
    return handle;
  });
}

void check_cublas(cublasStatus_t status, std::string_view what) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  throw FailedError(fmt::format("{}: {}", what, cublas().cublasGetStatusString(status)));
}

LibraryInfo cublas_library() {
  const auto& opened = opened_cublas();
  LibraryInfo info{.name = "cublas", .version = "", .path = opened.path, .problem = opened.problem};
  if (!opened.functions) return info;
  int major = 0, minor = 0, patch = 0;
  opened.functions->cublasGetProperty(MAJOR_VERSION, &major);
  opened.functions->cublasGetProperty(MINOR_VERSION, &minor);
  opened.functions->cublasGetProperty(PATCH_LEVEL, &patch);
  info.version = fmt::format("{}.{}.{}", major, minor, patch);
  return info;
}

}  // namespace jitterscope::cuda
