// Replaces matrix products if the build found no cublasLt.h.
#include "device/cuda/operations/operations.hpp"
#include "jitterscope/error.hpp"

namespace jitterscope::cuda {
namespace {

constexpr const char* kProblem = "this jitterscope was built without cuBLASLt's headers";

[[noreturn]] void throw_absent_product() {
  throw MissingError(
      std::string(kProblem) +
      ", so it has no products of matrices on a GPU; install cublasLt.h of the CUDA toolkit and build anew");
}

}  // namespace

std::unique_ptr<PreparedOperation> prepare_matmul(const Context&, const Operation&, const InputData&) {
  throw_absent_product();
}

std::unique_ptr<PreparedOperation> prepare_fused_product(const Context&, const Operation&, const InputData&) {
  throw_absent_product();
}

std::vector<EngineListing> list_matmul_engines(const Context&, const Operation&) { return {}; }

LibraryInfo cublas_library() { return {.name = "cublas", .version = "", .path = "", .problem = kProblem}; }

LibraryInfo cublaslt_library() {
  return {.name = "cublaslt", .version = "", .path = "", .problem = kProblem};
}

}  // namespace jitterscope::cuda
