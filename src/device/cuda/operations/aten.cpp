// Operators of PyTorch on the context's stream: PyTorch works in the same primary context.
#include "device/cuda/operand_data.hpp"
#include "device/cuda/operations/operations.hpp"
#include "device/torch/torch_operation.hpp"

namespace jitterscope::cuda {
namespace {

/// The size of its output depends on the data, or it copies to the host.
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
