#include "device/cuda/cuda_operation.hpp"

#include "device/cuda/driver.hpp"
#include "device/cuda/kernels.hpp"
#include "device/cuda/operand_data.hpp"

namespace jitterscope::cuda {

CudaOperation::CudaOperation(const Context& context, const Operation& operation, const InputData& data)
    : context_(context), operation_(operation), descriptions_(operation.operands()) {
  context_.make_current();
  Bytes needed(0);
  for (std::size_t i = 0; i < descriptions_.size(); ++i) {
    operands_.push_back(shared_memory(i, data));
    if (!operands_.back()) needed += descriptions_[i].bytes();
  }
  require_device_memory(context_, operation_, needed);
  for (std::size_t i = 0; i < descriptions_.size(); ++i) {
    if (!operands_[i]) operands_[i] = std::make_shared<DeviceMemory>(descriptions_[i].bytes());
    if (descriptions_[i].role == OperandRole::input) {
      fill_operand(context_, operands_[i]->address(), descriptions_[i], i, data);
    }
  }
  CudaOperation::poison_outputs();
}

std::shared_ptr<DeviceMemory> CudaOperation::shared_memory(std::size_t index, const InputData& data) const {
  for (const SharedOperand& shared : data.shared) {
    const auto* owner = dynamic_cast<const CudaOperation*>(shared.owner);
    if (shared.operand != index || owner == nullptr) continue;
    const std::shared_ptr<DeviceMemory>& memory = owner->operands_.at(shared.owner_operand);
    if (memory->size() == descriptions_[index].bytes()) return memory;
  }
  return nullptr;
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
  for (const auto& operand : operands_) regions.push_back({operand->pointer(), operand->size()});
  return regions;
}

void CudaOperation::poison_outputs() {
  context_.make_current();
  for (std::size_t i = 0; i < descriptions_.size(); ++i) {
    if (descriptions_[i].role == OperandRole::output) poison_device_memory(context_, *operands_[i]);
  }
  check(driver().cuCtxSynchronize(), "preparing the operands of " + operation_.text());
}

std::vector<double> CudaOperation::read_operand(std::size_t index) {
  return read_as_double(context_, operand(index), descriptions_.at(index));
}

}  // namespace jitterscope::cuda
