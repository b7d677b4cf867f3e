#include <fmt/format.h>
#include <fmt/ranges.h>

#include "device/cuda/cuda_operation.hpp"
#include "device/cuda/operations/cublaslt.hpp"
#include "device/cuda/operations/cublaslt_algorithm.hpp"
#include "device/cuda/operations/matmul.hpp"
#include "device/cuda/operations/matmul_providers.hpp"
#include "device/cuda/operations/operations.hpp"
#include "jitterscope/error.hpp"
#include "operation/pytorch_rules.hpp"

namespace jitterscope::cuda {
namespace {

// A row-major rows×columns matrix is its transpose to cuBLASLt, which counts by columns.
MatrixDescription describe_matrix(const Matmul& matmul, std::int64_t rows, std::int64_t columns) {
  cublasLtMatrixLayout_t layout = nullptr;
  check_cublaslt(cublaslt().cublasLtMatrixLayoutCreate(&layout, product_types(matmul.dtype).matrix,
                                                       static_cast<std::uint64_t>(columns),
                                                       static_cast<std::uint64_t>(rows), columns),
                 "cublasLtMatrixLayoutCreate");
  MatrixDescription description(layout);
  description.set(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, static_cast<std::int32_t>(matmul.batch));
  description.set(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, std::int64_t{rows * columns});
  return description;
}

ProductDescription describe_product(const Matmul& matmul, const void* bias) {
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
  if (matmul.bias) {
    // The epilogue adds one value per row of Cᵀ, which is one per column of C.
    product.set(CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_BIAS);
    product.set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias);
  }
  return product;
}

// PyTorch's default of CUBLASLT_WORKSPACE_SIZE, also on GPUs where it gives cuBLAS 32 MiB (its logs on an
// H200).
constexpr std::uint64_t kLargestWorkspace = 1u << 20;
constexpr std::uint32_t kOperandAlignment = 256;  // of every operand, and the most that PyTorch tells
constexpr int kMostProposals = 32;

Preference make_preference() {
  cublasLtMatmulPreference_t handle = nullptr;
  check_cublaslt(cublaslt().cublasLtMatmulPreferenceCreate(&handle), "cublasLtMatmulPreferenceCreate");
  Preference preference(handle);
  preference.set(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, kLargestWorkspace);
  for (const auto name :
       {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
        CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES}) {
    preference.set(name, kOperandAlignment);
  }
  return preference;
}

// The product and its matrices as cuBLASLt describes them, without memory.
class Problem {
 public:
  Problem(const Matmul& matmul, const void* bias)
      : handle_(cublaslt_handle()),
        matmul_(matmul),
        product_(describe_product(matmul, bias)),
        a_(matmul.transpose_a ? describe_matrix(matmul, matmul.k, matmul.m)
                              : describe_matrix(matmul, matmul.m, matmul.k)),
        b_(matmul.transpose_b ? describe_matrix(matmul, matmul.n, matmul.k)
                              : describe_matrix(matmul, matmul.k, matmul.n)),
        c_(describe_matrix(matmul, matmul.m, matmul.n)) {}

  const Matmul& matmul() const { return matmul_; }

  std::vector<cublasLtMatmulHeuristicResult_t> ask_heuristic(int at_most) const {
    const Preference preference = make_preference();
    std::vector<cublasLtMatmulHeuristicResult_t> results(static_cast<std::size_t>(at_most));
    int found = 0;
    const cublasStatus_t status = cublaslt().cublasLtMatmulAlgoGetHeuristic(
        handle_, product_.get(), b_.get(), a_.get(), c_.get(), c_.get(), preference.get(), at_most,
        results.data(), &found);
    if (status != CUBLAS_STATUS_NOT_SUPPORTED) check_cublaslt(status, "cublasLtMatmulAlgoGetHeuristic");
    results.resize(static_cast<std::size_t>(found));
    std::erase_if(results, [](const auto& result) { return result.state != CUBLAS_STATUS_SUCCESS; });
    return results;
  }

  cublasLtMatmulHeuristicResult_t named(std::string_view tag) const {
    cublasLtMatmulHeuristicResult_t result{};
    result.algo = algorithm_of_tag(handle_, product_types(matmul_.dtype), tag);
    const cublasLtMatmulAlgo_t algorithm = result.algo;
    check_cublaslt(cublaslt().cublasLtMatmulAlgoCheck(handle_, product_.get(), b_.get(), a_.get(), c_.get(),
                                                      c_.get(), &algorithm, &result),
                   "cublasLtMatmulAlgoCheck");
    result.algo = algorithm;
    return result;
  }

  template <class Scale>
  void run(Scale alpha, Scale beta, const void* a, const void* b, void* c,
           const cublasLtMatmulHeuristicResult_t& choice, void* workspace, NativeQueue queue) const {
    check_cublaslt(cublaslt().cublasLtMatmul(handle_, product_.get(), &alpha, b, b_.get(), a, a_.get(), &beta,
                                             c, c_.get(), c, c_.get(), &choice.algo, workspace,
                                             choice.workspaceSize, static_cast<cudaStream_t>(queue)),
                   "cublasLtMatmul");
  }

 private:
  cublasLtHandle_t handle_;
  Matmul matmul_;
  ProductDescription product_;
  MatrixDescription a_, b_, c_;
};

class CublasLtMatmul : public CudaOperation {
 public:
  CublasLtMatmul(const Context& context, const Operation& requested, const InputData& data)
      : CudaOperation(context, requested, data),
        problem_(matmul_of(operation()), operand_pointer(2)),
        choice_(problem_.matmul().engine.empty() ? choose() : named_choice()),
        workspace_(context, Bytes(static_cast<std::int64_t>(choice_.workspaceSize))) {}

  std::string provider() const override { return "cublaslt"; }
  std::string algorithm() const override { return algorithm_tag(choice_.algo); }
  Bytes workspace() const override { return workspace_.size(); }
  bool is_stand_in() const override {
    return problem_.matmul().engine.empty() && !pytorch_uses_bias_epilogue(problem_.matmul());
  }

  void run(NativeQueue queue) override {
    void* c = operand_pointer(problem_.matmul().bias ? 3 : 2);
    if (problem_.matmul().dtype == DataType::f64) {
      problem_.run(1.0, 0.0, operand_pointer(0), operand_pointer(1), c, choice_, workspace_.pointer(), queue);
    } else {
      problem_.run(1.0f, 0.0f, operand_pointer(0), operand_pointer(1), c, choice_, workspace_.pointer(),
                   queue);
    }
  }

 private:
  cublasLtMatmulHeuristicResult_t choose() const {
    const auto results = problem_.ask_heuristic(1);
    if (!results.empty()) return results.front();
    throw FailedError(fmt::format("cuBLASLt has no algorithm for {} on this GPU", operation().text()));
  }

  cublasLtMatmulHeuristicResult_t named_choice() const {
    const std::string& engine = problem_.matmul().engine;
    std::string problem;
    try {
      return problem_.named(engine);
    } catch (const FailedError& error) {
      problem = error.what();
    }
    std::vector<std::string> known;
    for (const auto& other : problem_.ask_heuristic(kMostProposals))
      known.push_back(algorithm_tag(other.algo));
    throw FailedError(fmt::format("cuBLASLt {} cannot run this product by {}: {}; it proposes {}",
                                  cublaslt_library().version, engine, problem, fmt::join(known, ", ")));
  }

  Problem problem_;
  cublasLtMatmulHeuristicResult_t choice_;
  Workspace workspace_;
};

}  // namespace

bool cublaslt_proposes(const Matmul& matmul) {
  // Where the bias lies does not matter as long as it is aligned; that there is one does.
  const void* const bias = reinterpret_cast<const void*>(std::uintptr_t{kOperandAlignment});  // NOLINT
  return !Problem(matmul, bias).ask_heuristic(1).empty();
}

std::unique_ptr<PreparedOperation> prepare_cublaslt_matmul(const Context& context, const Operation& operation,
                                                           const InputData& data) {
  return std::make_unique<CublasLtMatmul>(context, operation, data);
}

std::vector<EngineListing> list_matmul_engines(const Context& context, const Operation& operation) {
  context.make_current();
  const Matmul matmul = matmul_of(operation);
  // Heuristics depend on whether there is a bias, and its alignment, but not on where it is.
  const Problem problem(matmul, reinterpret_cast<const void*>(kOperandAlignment));  // NOLINT: never read
  std::vector<EngineListing> engines;
  for (const auto& result : problem.ask_heuristic(kMostProposals)) {
    using enum EngineListing::Source;
    engines.push_back({algorithm_tag(result.algo), Bytes(static_cast<std::int64_t>(result.workspaceSize)),
                       pytorch_uses_bias_epilogue(matmul) && engines.empty() ? heuristic : other, ""});
  }
  return engines;
}

}  // namespace jitterscope::cuda
