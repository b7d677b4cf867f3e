#include "device/cuda/operations/product_problem.hpp"

#include "device/cuda/operations/cublaslt_algorithm.hpp"
#include "device/cuda/operations/matmul.hpp"

namespace jitterscope::cuda {
namespace {

// A row-major rows×columns matrix is its transpose to cuBLASLt, which counts by columns.
MatrixDescription describe_matrix(const Matmul& matmul, std::int64_t rows, std::int64_t columns,
                                  const RowStride& stride) {
  const std::int64_t leading = stride.of(columns);
  cublasLtMatrixLayout_t layout = nullptr;
  check_cublaslt(cublaslt().cublasLtMatrixLayoutCreate(&layout, product_types(matmul.dtype).matrix,
                                                       static_cast<std::uint64_t>(columns),
                                                       static_cast<std::uint64_t>(rows), leading),
                 "cublasLtMatrixLayoutCreate");
  MatrixDescription description(layout);
  description.set(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, static_cast<std::int32_t>(matmul.batch));
  description.set(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, std::int64_t{rows * leading});
  return description;
}

cublasLtEpilogue_t epilogue_of(bool bias, ProductActivation activation) {
  switch (activation) {
    case ProductActivation::none: return bias ? CUBLASLT_EPILOGUE_BIAS : CUBLASLT_EPILOGUE_DEFAULT;
    case ProductActivation::relu: return bias ? CUBLASLT_EPILOGUE_RELU_BIAS : CUBLASLT_EPILOGUE_RELU;
    case ProductActivation::gelu: return bias ? CUBLASLT_EPILOGUE_GELU_BIAS : CUBLASLT_EPILOGUE_GELU;
  }
  return CUBLASLT_EPILOGUE_DEFAULT;
}

ProductDescription describe_product(const Matmul& matmul, const void* bias, ProductActivation activation) {
  const ProductTypes types = product_types(matmul.dtype);
  cublasLtMatmulDesc_t handle = nullptr;
  check_cublaslt(cublaslt().cublasLtMatmulDescCreate(&handle, types.compute, types.scale),
                 "cublasLtMatmulDescCreate");
  ProductDescription product(handle);
  const auto set_transpose = [&](cublasLtMatmulDescAttributes_t name, bool transpose) {
    product.set(name, static_cast<std::int32_t>(transpose ? CUBLAS_OP_T : CUBLAS_OP_N));
  };
  // Cᵀ = op(B)ᵀ·op(A)ᵀ: the factors change places.
  set_transpose(CUBLASLT_MATMUL_DESC_TRANSA, matmul.transpose_b);
  set_transpose(CUBLASLT_MATMUL_DESC_TRANSB, matmul.transpose_a);
  if (matmul.bias || activation != ProductActivation::none) {
    product.set(CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue_of(matmul.bias, activation));
  }
  // One value per row of Cᵀ, which is one per column of C.
  if (matmul.bias) product.set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias);
  return product;
}

// PyTorch's default of CUBLASLT_WORKSPACE_SIZE, also on GPUs where it gives cuBLAS 32 MiB (its logs on an
// H200).
constexpr std::uint64_t kLargestWorkspace = 1u << 20;

Preference make_preference(std::uint32_t alignment) {
  cublasLtMatmulPreference_t handle = nullptr;
  check_cublaslt(cublaslt().cublasLtMatmulPreferenceCreate(&handle), "cublasLtMatmulPreferenceCreate");
  Preference preference(handle);
  preference.set(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, kLargestWorkspace);
  for (const auto name :
       {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
        CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES}) {
    preference.set(name, alignment);
  }
  return preference;
}

}  // namespace

ProductProblem::ProductProblem(const Matmul& matmul, const void* bias, std::uint32_t alignment,
                               ProductActivation activation, const RowStride& rows)
    : handle_(cublaslt_handle()),
      matmul_(matmul),
      alignment_(alignment),
      product_(describe_product(matmul, bias, activation)),
      a_(matmul.transpose_a ? describe_matrix(matmul, matmul.k, matmul.m, rows)
                            : describe_matrix(matmul, matmul.m, matmul.k, rows)),
      b_(matmul.transpose_b ? describe_matrix(matmul, matmul.n, matmul.k, rows)
                            : describe_matrix(matmul, matmul.k, matmul.n, rows)),
      c_(describe_matrix(matmul, matmul.m, matmul.n, rows)) {}

std::vector<cublasLtMatmulHeuristicResult_t> ProductProblem::ask_heuristic(int at_most) const {
  const Preference preference = make_preference(alignment_);
  std::vector<cublasLtMatmulHeuristicResult_t> results(static_cast<std::size_t>(at_most));
  int found = 0;
  const cublasStatus_t status =
      cublaslt().cublasLtMatmulAlgoGetHeuristic(handle_, product_.get(), b_.get(), a_.get(), c_.get(),
                                                c_.get(), preference.get(), at_most, results.data(), &found);
  if (status != CUBLAS_STATUS_NOT_SUPPORTED) check_cublaslt(status, "cublasLtMatmulAlgoGetHeuristic");
  results.resize(static_cast<std::size_t>(found));
  std::erase_if(results, [](const auto& result) { return result.state != CUBLAS_STATUS_SUCCESS; });
  return results;
}

cublasLtMatmulHeuristicResult_t ProductProblem::named(std::string_view tag) const {
  cublasLtMatmulHeuristicResult_t result{};
  result.algo = algorithm_of_tag(handle_, product_types(matmul_.dtype), tag);
  const cublasLtMatmulAlgo_t algorithm = result.algo;
  check_cublaslt(cublaslt().cublasLtMatmulAlgoCheck(handle_, product_.get(), b_.get(), a_.get(), c_.get(),
                                                    c_.get(), &algorithm, &result),
                 "cublasLtMatmulAlgoCheck");
  result.algo = algorithm;
  return result;
}

void ProductProblem::run(const void* a, const void* b, void* c, const cublasLtMatmulHeuristicResult_t& choice,
                         void* workspace, NativeQueue queue) const {
  const auto multiply = [&](auto alpha, auto beta) {
    check_cublaslt(cublaslt().cublasLtMatmul(handle_, product_.get(), &alpha, b, b_.get(), a, a_.get(), &beta,
                                             c, c_.get(), c, c_.get(), &choice.algo, workspace,
                                             choice.workspaceSize, static_cast<cudaStream_t>(queue)),
                   "cublasLtMatmul");
  };
  if (matmul_.dtype == DataType::f64) {
    multiply(1.0, 0.0);
  } else {
    multiply(1.0f, 0.0f);
  }
}

}  // namespace jitterscope::cuda
