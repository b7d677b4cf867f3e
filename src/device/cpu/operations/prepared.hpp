// What every operation on the CPU has: operands in memory, filled and readable.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "device/cpu/memory.hpp"
#include "device/operand_rows.hpp"
#include "jitterscope/device.hpp"

namespace jitterscope::cpu {

/// The values that inputs are filled with, made once for each kind and seed.
class InputTable {
 public:
  explicit InputTable(const InputData& data);
  const InputData& data() const { return data_; }
  /// Of the same kind and seed: what the next operation shares, and whether its weights are scaled.
  void use_for(const InputData& data) { data_ = data; }
  /// Fills an operand; another `stream` gives other values. Indices are random for any kind of data.
  void fill(std::byte* memory, const Operand& operand, std::uint64_t stream) const;

 private:
  InputData data_;
  std::vector<double> values_;
};

class CpuOperation : public PreparedOperation {
 public:
  /// Throws UsageError where the inputs' offset, or rows apart, are more than it copes with.
  CpuOperation(const Operation& operation, const InputTable& inputs, RowsApart rows = RowsApart::never);

  const Operation& operation() const override { return operation_; }
  std::string provider() const override { return "builtin"; }
  std::string algorithm() const override { return {}; }
  bool runs_reference_loops() const override {
    return !std::holds_alternative<Copy>(operation_.parameters());
  }
  /// Words of 8 bytes are the widest that are written as such; x86 loads vectors from any address.
  std::optional<Bytes> operand_alignment() const override { return Bytes(8); }
  bool has_row_strides() const override { return has_row_strides_; }
  bool lies_in_pages() const override { return !operands_.empty(); }
  bool produce_inputs(NativeQueue) override;
  std::vector<MemoryRegion> memory() const override;
  void poison_outputs() override;
  std::vector<double> read_operand(std::size_t index) override;

  // For the reference, which computes with operands that it is given.
  void write_operand(std::size_t index, const std::vector<double>& values);
  double read_element(std::size_t operand, std::int64_t index) const;
  /// All elements of an operand in their order, with their places.
  void for_each_element(std::size_t operand, const std::function<void(std::int64_t, double)>& look) const;
  /// Writes one element of an output, and perhaps others, at no more than its share of the cost of run();
  /// false where only run() does.
  virtual bool compute_element(std::size_t /*operand*/, std::int64_t /*index*/) { return false; }

 protected:
  template <class Element = void>
  Element* data(std::size_t index) const {
    return reinterpret_cast<Element*>(places_[index].begin());
  }

 private:
  /// Where an operand lies: alone in its memory, or in a part of another's.
  struct Place {
    std::shared_ptr<AlignedMemory> memory;
    Bytes offset, size;

    static Place of_its_own(Bytes size, const InputData& data);
    std::byte* begin() const { return memory->data() + offset.value(); }
  };
  /// What another operation shares of this one's.
  Place part(const SharedOperand& shared, Bytes size) const;

  Operation operation_;
  std::vector<Operand> operands_;
  bool has_row_strides_;
  std::vector<OperandRows> rows_;
  std::vector<Place> places_;
};

}  // namespace jitterscope::cpu
