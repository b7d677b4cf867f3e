#include "device/cuda/operations/operations.hpp"

#include <fmt/format.h>

#include "device/cuda/cuda_operation.hpp"
#include "device/cuda/driver.hpp"
#include "device/cuda/kernels.hpp"
#include "device/cuda/layer_kernels.hpp"
#include "device/torch/plugin.hpp"
#include "jitterscope/error.hpp"

// Layers by jitterscope's own kernels. PyTorch's kernels exist only inside its library, so these stand in for
// them: their times are near, not the same.

namespace jitterscope::cuda {
namespace {

struct Planner {
  KernelPlan& plan;
  void operator()(const Elementwise& shape) { plan_elementwise(plan, shape); }
  void operator()(const Pool2d& shape) { plan_pool(plan, shape); }
  void operator()(const Softmax& shape) { plan_softmax(plan, shape); }
  void operator()(const LayerNorm& shape) { plan_layer_norm(plan, shape); }
  void operator()(const BatchNorm& shape) { plan_batch_norm(plan, shape); }
  void operator()(const BiasAdd& shape) { plan_bias_add(plan, shape); }
  void operator()(const Convert& shape) { plan_convert(plan, shape); }
  void operator()(const Embedding& shape) { plan_embedding(plan, shape); }
  void operator()(const OptimizerStep& shape) { plan_optimizer(plan, shape); }
  template <class Shape>
  void operator()(const Shape&) {
    throw UsageError("jitterscope has no kernel of its own for this operation");
  }
};

class BuiltinOperation : public CudaOperation {
 public:
  BuiltinOperation(const Context& shared, const Operation& requested, const InputData& data)
      : CudaOperation(shared, requested, data), plan_(shared, addresses()) {
    std::visit(Planner{plan_}, operation().parameters());
    if (const auto* pool = std::get_if<Pool2d>(&operation().parameters())) fill_indices(*pool, data);
    if (const auto* norm = std::get_if<BatchNorm>(&operation().parameters())) fill_statistics(*norm);
    check(driver().cuCtxSynchronize(), "preparing " + operation().text());
  }

  std::string provider() const override { return "builtin"; }
  std::string algorithm() const override { return plan_.names(); }
  Bytes workspace() const override { return plan_.workspace_size(); }
  bool is_stand_in() const override {
    const auto* elementwise = std::get_if<Elementwise>(&operation().parameters());
    return elementwise == nullptr || elementwise->kind != ElementwiseKind::fill;
  }
  void run(NativeQueue queue) override { plan_.run(static_cast<CUstream>(queue)); }

 private:
  std::vector<CUdeviceptr> addresses() const {
    std::vector<CUdeviceptr> addresses;
    const std::size_t count = operation().operands().size();
    for (std::size_t i = 0; i < count; ++i) addresses.push_back(operand(i));
    return addresses;
  }

  // The backward pass looks for an index only in the windows that cover its element, so the indices must come
  // from some forward pass.
  void fill_indices(Pool2d pool, const InputData& data) {
    if (pool.kind != PoolKind::max || pool.pass != Pass::backward) return;
    pool.pass = Pass::forward;
    const Operation forward(pool);
    const std::vector<Operand> operands = forward.operands();
    require_device_memory(context(), operation(), operands[0].bytes() + operands[1].bytes());
    const DeviceMemory x(operands[0].bytes()), y(operands[1].bytes());
    fill_operand(context(), x.address(), operands[0], operands.size(), data);
    GpuPlan plan(context(), {x.address(), y.address(), operand(1)});
    plan_pool(plan, pool);
    plan.run(context().stream());
    check(driver().cuCtxSynchronize(), "choosing the indices of " + operation().text());
  }

  // The backward pass reads what a forward pass kept: with statistics other than those of x the result
  // differs from cuDNN's.
  void fill_statistics(BatchNorm norm) {
    if (norm.pass != Pass::backward) return;
    norm.pass = Pass::forward;
    const std::vector<Operand> operands = Operation(norm).operands();
    require_device_memory(context(), operation(), operands[2].bytes() + operands[3].bytes());
    const DeviceMemory bias(operands[2].bytes()), y(operands[3].bytes());
    GpuPlan plan(context(), {operand(0), operand(2), bias.address(), y.address(), operand(3), operand(4)});
    plan_batch_norm(plan, norm);
    plan.run(context().stream());
    check(driver().cuCtxSynchronize(), "the forward pass before " + operation().text());
  }

  GpuPlan plan_;
};

}  // namespace

std::unique_ptr<PreparedOperation> prepare_builtin(const Context& context, const Operation& operation,
                                                   const InputData& data) {
  return std::make_unique<BuiltinOperation>(context, operation, data);
}

// Kernels that last a known time or a known number of cycles, as ground truth.

namespace {

void require_launchable(const Context& context, const Operation& operation, const Spin& spin) {
  const int most_threads = context.attribute(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
  if (spin.threads > most_threads) {
    throw UsageError(fmt::format("{}: cuda:{} runs at most {} threads per block", operation.text(),
                                 context.ordinal(), most_threads));
  }
  const int most_blocks = context.attribute(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X);
  if (spin.blocks > most_blocks) {
    throw UsageError(
        fmt::format("{}: cuda:{} runs at most {} blocks", operation.text(), context.ordinal(), most_blocks));
  }
}

class SpinOperation : public CudaOperation {
 public:
  SpinOperation(const Context& shared, const Operation& operation, const InputData& data)
      : CudaOperation(shared, operation, data), spin_(std::get<Spin>(operation.parameters())) {
    require_launchable(shared, operation, spin_);
  }
  std::string provider() const override { return "builtin"; }
  std::string algorithm() const override {
    return spin_.unit == Spin::Unit::nanoseconds ? "spins on globaltimer" : "spins on clock64";
  }
  void run(NativeQueue queue) override { context().kernels().spin(static_cast<CUstream>(queue), spin_); }

 private:
  Spin spin_;
};

}  // namespace

std::unique_ptr<PreparedOperation> prepare_spin(const Context& context, const Operation& operation,
                                                const InputData& data) {
  return std::make_unique<SpinOperation>(context, operation, data);
}

// Operators of PyTorch on the context's stream: PyTorch works in the same primary context.

namespace {

/// An operator that waits for the queue: its output's size depends on the data, or it copies to the host.
class WaitingOperator : public torch::TorchOperation {
 public:
  using TorchOperation::TorchOperation;
  bool waits_for_queue() const override { return true; }
};

}  // namespace

std::unique_ptr<PreparedOperation> prepare_aten(const Context& context, const Operation& operation,
                                                const InputData& data) {
  require_device_memory(context, operation, operation.bytes());
  torch::Handle handle(operation, data,
                       {.device_type = "cuda", .ordinal = context.ordinal(), .queue = context.stream()});
  // PyTorch may have made another GPU's context current.
  context.make_current();
  if (handle.waits_for_queue()) return std::make_unique<WaitingOperator>(operation, std::move(handle));
  return std::make_unique<torch::TorchOperation>(operation, std::move(handle));
}

}  // namespace jitterscope::cuda
