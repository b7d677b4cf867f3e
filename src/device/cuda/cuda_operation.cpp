#include "device/cuda/cuda_operation.hpp"

#include "device/cuda/driver.hpp"
#include "device/cuda/kernels.hpp"
#include "device/cuda/operand_data.hpp"

namespace jitterscope::cuda {

CudaOperation::CudaOperation(const Context& context, const Operation& operation, const InputData& data)
    : context_(context), operation_(operation), descriptions_(operation.operands()) {
  context_.make_current();
  Bytes needed(0);
  for (const Operand& operand : descriptions_) needed += operand.bytes();
  require_device_memory(context_, operation_, needed);
  for (std::size_t i = 0; i < descriptions_.size(); ++i) {
    operands_.emplace_back(descriptions_[i].bytes());
    if (descriptions_[i].role == OperandRole::input) {
      fill_operand(context_, operands_[i].address(), descriptions_[i], i, data);
    }
  }
  poison_outputs();
}

bool CudaOperation::produce_inputs(NativeQueue queue) {
  for (std::size_t i = 0; i < descriptions_.size(); ++i) {
    if (descriptions_[i].role != OperandRole::input) continue;
    context_.kernels().touch(static_cast<CUstream>(queue), {operand_pointer(i), descriptions_[i].bytes()});
  }
  return true;
}

std::vector<MemoryRegion> CudaOperation::memory() const {
  std::vector<MemoryRegion> regions;
  for (const DeviceMemory& operand : operands_) regions.push_back({operand.pointer(), operand.size()});
  return regions;
}

void CudaOperation::poison_outputs() {
  context_.make_current();
  for (std::size_t i = 0; i < descriptions_.size(); ++i) {
    if (descriptions_[i].role == OperandRole::output) poison_device_memory(context_, operands_[i]);
  }
  check(driver().cuCtxSynchronize(), "preparing the operands of " + operation_.text());
}

std::vector<double> CudaOperation::read_operand(std::size_t index) {
  return read_as_double(context_, operand(index), descriptions_.at(index));
}

}  // namespace jitterscope::cuda
