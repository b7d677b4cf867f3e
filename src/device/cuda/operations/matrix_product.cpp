#include "device/cuda/operations/matrix_product.hpp"

#include <bit>
#include <optional>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "device/cuda/cuda_operation.hpp"
#include "device/cuda/driver.hpp"
#include "device/cuda/layer_kernels.hpp"
#include "device/cuda/operations/cublas.hpp"
#include "device/cuda/operations/operations.hpp"
#include "device/cuda/operations/product_call.hpp"
#include "jitterscope/error.hpp"
#include "operation/operation.hpp"
#include "operation/pytorch.hpp"

namespace jitterscope::cuda {
namespace {

// Describes a row-major rows×columns matrix as its transpose, since cuBLASLt stores by columns.
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
  // One value for each row of Cᵀ, that is for each column of C.
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

namespace {

// Returns the size that PyTorch sets in CUBLAS_WORKSPACE_CONFIG unless the user did: 32 MiB on data centre
// GPUs from Hopper on (9.0, 10.x), else :4096:2:16:8.
Bytes workspace_size(const Context& context) {
  const int major = context.attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
  return Bytes(major == 9 || major == 10 ? 32 << 20 : (2 * 4096 + 8 * 16) << 10);
}

// PyTorch's way if no epilogue of cuBLASLt adds the bias: the bias is copied into C, and the product is added
// to it.
class BiasCopy {
 public:
  /// `operands` are a, b, bias and c.
  BiasCopy(const Context& context, const Matmul& matmul, const std::vector<CUdeviceptr>& operands)
      : bias_(operands.at(2)),
        c_(operands.at(3)),
        size_(static_cast<std::size_t>(matmul.n * element_size(matmul.dtype).value())) {
    if (matmul.m > 1) plan_bias_broadcast(rows_.emplace(context, operands), matmul);
  }
  /// True for more than one row: PyTorch has its own kernel for these, and a plain copy for one row.
  bool is_stand_in() const { return rows_.has_value(); }
  void run(CUstream stream) {
    if (rows_) return rows_->run(stream);
    check(driver().cuMemcpyDtoDAsync(c_, bias_, size_, stream), "copying the bias");
  }

 private:
  CUdeviceptr bias_, c_;
  std::size_t size_;
  std::optional<GpuPlan> rows_;
};

// GemmEx checks the elements' addresses at each call. Our own kernel copies the bias in vectors.
Bytes alignment_of(const Matmul& matmul) {
  constexpr Bytes kVector(16);
  return matmul.bias ? kVector : element_size(matmul.dtype);
}

// Our own kernel copies the bias only to packed rows.
RowsApart rows_apart(const Matmul& matmul) { return matmul.bias ? RowsApart::never : RowsApart::as_asked; }

class CublasMatmul : public CudaOperation {
 public:
  CublasMatmul(const Context& context, const Operation& requested, const InputData& data)
      : CudaOperation(context, requested, data, Bytes(0), alignment_of(as_matmul(requested)),
                      rows_apart(as_matmul(requested))),
        handle_(cublas_handle()),
        matmul_(as_matmul(operation())),
        types_(product_types(matmul_.dtype)),
        call_(product_call(matmul_, data.rows)),
        bias_(make_bias()),
        workspace_(context, workspace_size(context)),
        algorithm_(logged_algorithm([&] { run(context.stream()); })) {
    check(driver().cuCtxSynchronize(), operation().text());
    poison_outputs();  // finding out the algorithm has written them
  }

  std::string provider() const override { return "cublas"; }
  std::string algorithm() const override { return algorithm_; }
  Bytes workspace() const override { return workspace_.size(); }
  bool is_stand_in() const override { return bias_ && bias_->is_stand_in(); }

  void run(NativeQueue queue) override {
    if (bias_) bias_->run(static_cast<CUstream>(queue));
    const Cublas& library = cublas();
    // The order matters: setting a stream removes the workspace.
    check_cublas(library.cublasSetStream_v2(handle_, static_cast<cudaStream_t>(queue)), "cublasSetStream");
    check_cublas(library.cublasSetWorkspace_v2(handle_, workspace_.pointer(),
                                               static_cast<std::size_t>(workspace_.size().value())),
                 "cublasSetWorkspace");
    check_cublas(
        library.cublasSetMathMode(
            handle_, matmul_.dtype == DataType::tf32 ? CUBLAS_TF32_TENSOR_OP_MATH : CUBLAS_DEFAULT_MATH),
        "cublasSetMathMode");
    if (matmul_.dtype == DataType::f64) {
      multiply(1.0, bias_ ? 1.0 : 0.0);
    } else {
      multiply(1.0f, bias_ ? 1.0f : 0.0f);
    }
  }

 private:
  std::optional<BiasCopy> make_bias() const {
    if (!matmul_.bias) return std::nullopt;
    return BiasCopy(context(), matmul_, {operand(0), operand(1), operand(2), operand(3)});
  }

  // PyTorch calls Sgemm and Dgemm for f32 and f64; inside cuBLAS they equal GemmEx with these types.
  template <class Scale>
  void multiply(Scale alpha, Scale beta) {
    const auto operation_of = [](bool transpose) { return transpose ? CUBLAS_OP_T : CUBLAS_OP_N; };
    const auto narrow = [](std::int64_t size) { return static_cast<int>(size); };
    const cublasOperation_t first_operation = operation_of(call_.transpose_first),
                            second_operation = operation_of(call_.transpose_second);
    const int m = narrow(call_.m), n = narrow(call_.n), k = narrow(call_.k), batch = narrow(matmul_.batch);
    const int first_leading = narrow(call_.first_leading), second_leading = narrow(call_.second_leading),
              leading = narrow(call_.result_leading);
    const void *first = operand_pointer(call_.swapped ? 1 : 0),
               *second = operand_pointer(call_.swapped ? 0 : 1);
    void* c = operand_pointer(bias_ ? 3 : 2);
    if (batch == 1) {
      check_cublas(
          cublas().cublasGemmEx(handle_, first_operation, second_operation, m, n, k, &alpha, first,
                                types_.matrix, first_leading, second, types_.matrix, second_leading, &beta, c,
                                types_.matrix, leading, types_.compute, CUBLAS_GEMM_DEFAULT_TENSOR_OP),
          "cublasGemmEx");
      return;
    }
    check_cublas(
        cublas().cublasGemmStridedBatchedEx(
            handle_, first_operation, second_operation, m, n, k, &alpha, first, types_.matrix, first_leading,
            call_.first_step, second, types_.matrix, second_leading, call_.second_step, &beta, c,
            types_.matrix, leading, call_.result_step, batch, types_.compute, CUBLAS_GEMM_DEFAULT_TENSOR_OP),
        "cublasGemmStridedBatchedEx");
  }

  cublasHandle_t handle_;
  Matmul matmul_;
  ProductTypes types_;
  ProductCall call_;
  std::optional<BiasCopy> bias_;
  Workspace workspace_;
  std::string algorithm_;  // last: finding it out launches the product
};

}  // namespace

std::unique_ptr<PreparedOperation> prepare_cublas_matmul(const Context& context, const Operation& operation,
                                                         const InputData& data) {
  return std::make_unique<CublasMatmul>(context, operation, data);
}

namespace {

constexpr int kMostProposals = 32;

// The heuristic is told the operands' alignment. A named algorithm was found for the usual alignment.
Bytes least_alignment(const Matmul& matmul) {
  return matmul.engine.empty() ? element_size(matmul.dtype) : Bytes(kOperandAlignment);
}

std::uint32_t pointer_alignment_at(Bytes offset) {
  const auto bits = static_cast<std::uint32_t>(offset.value() % kOperandAlignment);
  return bits == 0 ? kOperandAlignment : std::uint32_t{1} << std::countr_zero(bits);
}

// A product, or a fused chain that begins with one: the epilogue adds the bias and applies relu or gelu.

const Chain& product_chain(const Operation& operation) { return std::get<Chain>(operation.parameters()); }

// The bias of a separate step becomes the product's.
Matmul product_of(const Operation& operation) {
  const Chain& chain = product_chain(operation);
  Matmul product = as_matmul(chain.steps.front());
  product.bias = product.bias || std::holds_alternative<BiasAdd>(chain.steps[1].parameters());
  product.engine.clear();  // it was found for another epilogue
  return product;
}

ProductActivation activation_behind(const Operation& operation) {
  const auto* last = std::get_if<Elementwise>(&product_chain(operation).steps.back().parameters());
  if (last == nullptr) return ProductActivation::none;
  return last->kind == ElementwiseKind::gelu ? ProductActivation::gelu : ProductActivation::relu;
}

const char* words_of(bool bias, ProductActivation activation) {
  switch (activation) {
    case ProductActivation::none: return "bias";
    case ProductActivation::relu: return bias ? "bias and relu" : "relu";
    case ProductActivation::gelu: return bias ? "bias and gelu" : "gelu";
  }
  return "";
}

class CublasLtProduct : public CudaOperation {
 public:
  CublasLtProduct(const Context& context, const Operation& requested, const InputData& data,
                  const Matmul& product, ProductActivation activation, Bytes alignment, RowsApart rows)
      : CudaOperation(context, requested, data, Bytes(0), alignment, rows),
        activation_(activation),
        problem_(product, operand_pointer(2), pointer_alignment_at(data.offset), activation, data.rows),
        choice_(product.engine.empty() ? choose() : named_choice()),
        workspace_(context, Bytes(static_cast<std::int64_t>(choice_.workspaceSize))) {}

  std::string provider() const override { return "cublaslt"; }
  std::string algorithm() const override {
    const std::string tag = algorithm_tag(choice_.algo);
    return is_fused()
               ? fmt::format("{} with epilogue ({})", tag, words_of(problem_.matmul().bias, activation_))
               : tag;
  }
  Bytes workspace() const override { return workspace_.size(); }
  bool is_stand_in() const override {
    return !is_fused() && problem_.matmul().engine.empty() && !pytorch_uses_bias_epilogue(problem_.matmul());
  }

  void run(NativeQueue queue) override {
    void* c = operand_pointer(problem_.matmul().bias ? 3 : 2);
    problem_.run(operand_pointer(0), operand_pointer(1), c, choice_, workspace_.pointer(), queue);
  }

 private:
  bool is_fused() const { return std::holds_alternative<Chain>(operation().parameters()); }

  cublasLtMatmulHeuristicResult_t choose() const {
    const auto results = problem_.ask_heuristic(1);
    if (!results.empty()) return results.front();
    throw FailedError(fmt::format("cuBLASLt has no algorithm{} for {} on this GPU{}",
                                  is_fused() ? " with this epilogue" : "", operation().text(),
                                  is_fused() ? "; leave out fused=1" : ""));
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

  ProductActivation activation_;
  ProductProblem problem_;
  cublasLtMatmulHeuristicResult_t choice_;
  Workspace workspace_;
};

}  // namespace

bool cublaslt_proposes(const Matmul& matmul) {
  // The heuristic depends on whether there is an aligned bias, but not on its address.
  const void* const bias = reinterpret_cast<const void*>(std::uintptr_t{kOperandAlignment});  // NOLINT
  return !ProductProblem(matmul, bias).ask_heuristic(1).empty();
}

std::unique_ptr<PreparedOperation> prepare_cublaslt_matmul(const Context& context, const Operation& operation,
                                                           const InputData& data) {
  const Matmul matmul = as_matmul(operation);
  return std::make_unique<CublasLtProduct>(context, operation, data, matmul, ProductActivation::none,
                                           least_alignment(matmul), RowsApart::as_asked);
}

std::vector<EngineListing> list_matmul_engines(const Context& context, const Operation& operation) {
  context.make_current();
  const Matmul matmul = as_matmul(operation);
  // The heuristic depends on whether there is a bias, and on its alignment, but not on its address.
  const ProductProblem problem(matmul,
                               reinterpret_cast<const void*>(kOperandAlignment));  // NOLINT: never read
  std::vector<EngineListing> engines;
  for (const auto& result : problem.ask_heuristic(kMostProposals)) {
    using enum EngineListing::Source;
    engines.push_back({algorithm_tag(result.algo), Bytes(static_cast<std::int64_t>(result.workspaceSize)),
                       pytorch_uses_bias_epilogue(matmul) && engines.empty() ? heuristic : other, ""});
  }
  return engines;
}

std::unique_ptr<PreparedOperation> prepare_fused_product(const Context& context, const Operation& operation,
                                                         const InputData& data) {
  cublaslt();  // before operands are allocated: reports a missing library first
  return std::make_unique<CublasLtProduct>(context, operation, data, product_of(operation),
                                           activation_behind(operation), Bytes(kOperandAlignment),
                                           RowsApart::never);
}

}  // namespace jitterscope::cuda
