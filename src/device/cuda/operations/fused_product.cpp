// Fused chains that begin with a matrix product: cuBLASLt's epilogue adds the bias and applies relu or gelu.
#include <fmt/format.h>

#include "device/cuda/cuda_operation.hpp"
#include "device/cuda/operations/cublaslt_algorithm.hpp"
#include "device/cuda/operations/fused_operations.hpp"
#include "device/cuda/operations/matmul.hpp"
#include "device/cuda/operations/product_problem.hpp"
#include "jitterscope/error.hpp"

namespace jitterscope::cuda {
namespace {

const Chain& product_chain(const Operation& operation) { return std::get<Chain>(operation.parameters()); }

// The bias of a step of its own is the product's.
Matmul product_of(const Operation& operation) {
  const Chain& chain = product_chain(operation);
  Matmul product = matmul_of(chain.steps.front());
  product.bias = product.bias || std::holds_alternative<BiasAdd>(chain.steps[1].parameters());
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

class FusedProduct : public CudaOperation {
 public:
  FusedProduct(const Context& context, const Operation& requested, const InputData& data)
      : CudaOperation(context, requested, data, Bytes(0), Bytes(kOperandAlignment)),
        activation_(activation_behind(operation())),
        problem_(product_of(operation()), operand_pointer(2), kOperandAlignment, activation_),
        choice_(choose()),
        workspace_(context, Bytes(static_cast<std::int64_t>(choice_.workspaceSize))) {}

  std::string provider() const override { return "cublaslt"; }
  std::string algorithm() const override {
    return fmt::format("{} with epilogue ({})", algorithm_tag(choice_.algo),
                       words_of(problem_.matmul().bias, activation_));
  }
  Bytes workspace() const override { return workspace_.size(); }

  void run(NativeQueue queue) override {
    problem_.run(operand_pointer(0), operand_pointer(1), operand_pointer(problem_.matmul().bias ? 3 : 2),
                 choice_, workspace_.pointer(), queue);
  }

 private:
  cublasLtMatmulHeuristicResult_t choose() const {
    const auto results = problem_.ask_heuristic(1);
    if (!results.empty()) return results.front();
    throw FailedError(
        fmt::format("cuBLASLt has no algorithm with this epilogue for {} on this GPU; leave out fused=1",
                    operation().text()));
  }

  ProductActivation activation_;
  ProductProblem problem_;
  cublasLtMatmulHeuristicResult_t choice_;
  Workspace workspace_;
};

}  // namespace

std::unique_ptr<PreparedOperation> prepare_fused_product(const Context& context, const Operation& operation,
                                                         const InputData& data) {
  cublaslt();  // before the operands are allocated: a missing library is the clearer reason
  return std::make_unique<FusedProduct>(context, operation, data);
}

}  // namespace jitterscope::cuda
