// What every operation on the CPU has: operands in memory, filled and readable.
#pragma once

#include <memory>
#include <vector>

#include "device/cpu/memory.hpp"
#include "jitterscope/device.hpp"

namespace jitterscope::cpu {

/// The values that inputs are filled with, made once for each kind and seed.
class InputTable {
 public:
  explicit InputTable(const InputData& data);
  const InputData& data() const { return data_; }
  /// What the next operation shares with others.
  void share(const std::vector<SharedOperand>& shared) { data_.shared = shared; }
  /// Fills an operand; another `stream` gives other values. Indices are random for any kind of data.
  void fill(std::byte* memory, const Operand& operand, std::uint64_t stream) const;

 private:
  InputData data_;
  std::vector<double> values_;
};

/// Bytes of all operands of an operation, as allocated.
Bytes operand_memory(const Operation& operation);

class CpuOperation : public PreparedOperation {
 public:
  CpuOperation(const Operation& operation, const InputTable& inputs);

  const Operation& operation() const override { return operation_; }
  std::string provider() const override { return "builtin"; }
  std::string algorithm() const override { return {}; }
  bool produce_inputs(NativeQueue) override;
  std::vector<MemoryRegion> memory() const override;
  void poison_outputs() override;
  std::vector<double> read_operand(std::size_t index) override;

 protected:
  template <class Element = void>
  Element* data(std::size_t index) const {
    return reinterpret_cast<Element*>(memory_[index]->data());
  }

 private:
  /// The memory that an operand shares, or null.
  std::shared_ptr<AlignedMemory> shared_memory(std::size_t index, const InputData& data) const;

  Operation operation_;
  std::vector<Operand> operands_;
  std::vector<std::shared_ptr<AlignedMemory>> memory_;
};

}  // namespace jitterscope::cpu
