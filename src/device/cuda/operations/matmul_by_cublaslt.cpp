#include <fmt/format.h>
#include <fmt/ranges.h>

#include <bit>

#include "device/cuda/cuda_operation.hpp"
#include "device/cuda/operations/cublaslt.hpp"
#include "device/cuda/operations/cublaslt_algorithm.hpp"
#include "device/cuda/operations/matmul.hpp"
#include "device/cuda/operations/matmul_providers.hpp"
#include "device/cuda/operations/operations.hpp"
#include "device/cuda/operations/product_problem.hpp"
#include "jitterscope/error.hpp"
#include "operation/pytorch_rules.hpp"

namespace jitterscope::cuda {
namespace {

constexpr int kMostProposals = 32;

// The heuristic is told how operands lie; an algorithm that is named was found for the usual alignment.
Bytes least_alignment(const Matmul& matmul) {
  return matmul.engine.empty() ? element_size(matmul.dtype) : Bytes(kOperandAlignment);
}

std::uint32_t alignment_at(Bytes offset) {
  const auto bits = static_cast<std::uint32_t>(offset.value() % kOperandAlignment);
  return bits == 0 ? kOperandAlignment : std::uint32_t{1} << std::countr_zero(bits);
}

class CublasLtMatmul : public CudaOperation {
 public:
  CublasLtMatmul(const Context& context, const Operation& requested, const InputData& data)
      : CudaOperation(context, requested, data, Bytes(0), least_alignment(matmul_of(requested)),
                      RowsApart::as_asked),
        problem_(matmul_of(operation()), operand_pointer(2), alignment_at(data.offset),
                 ProductActivation::none, data.rows),
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
    problem_.run(operand_pointer(0), operand_pointer(1), c, choice_, workspace_.pointer(), queue);
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

  ProductProblem problem_;
  cublasLtMatmulHeuristicResult_t choice_;
  Workspace workspace_;
};

}  // namespace

bool cublaslt_proposes(const Matmul& matmul) {
  // Where the bias lies does not matter as long as it is aligned; that there is one does.
  const void* const bias = reinterpret_cast<const void*>(std::uintptr_t{kOperandAlignment});  // NOLINT
  return !ProductProblem(matmul, bias).ask_heuristic(1).empty();
}

std::unique_ptr<PreparedOperation> prepare_cublaslt_matmul(const Context& context, const Operation& operation,
                                                           const InputData& data) {
  return std::make_unique<CublasLtMatmul>(context, operation, data);
}

std::vector<EngineListing> list_matmul_engines(const Context& context, const Operation& operation) {
  context.make_current();
  const Matmul matmul = matmul_of(operation);
  // Heuristics depend on whether there is a bias, and its alignment, but not on where it is.
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

}  // namespace jitterscope::cuda
