// The base of every operation on the CPU: operands in memory, filled and readable.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <stdexcept>
#include <vector>

#include "device/cpu/memory.hpp"
#include "device/cpu/number_formats.hpp"
#include "device/operands.hpp"
#include "jitterscope/device.hpp"
#include "jitterscope/operation.hpp"

namespace jitterscope::cpu {

/// Random values to fill inputs from, made once for each kind and seed.
class InputTable {
 public:
  explicit InputTable(const InputData& data);
  const InputData& data() const { return data_; }
  /// Sets the next operation's shared operands, weight scaling and seed; the kind must be the table's.
  void use_for(const InputData& data) { data_ = data; }
  /// Fills an operand. Another `stream` gives other values. Indices are random for any kind.
  void fill(std::byte* memory, const Operand& operand, std::uint64_t stream) const;

 private:
  InputData data_;
  std::vector<double> values_;
};

class CpuOperation : public PreparedOperation {
 public:
  /// Throws UsageError if the operation cannot have the inputs' offset or row padding.
  CpuOperation(const Operation& operation, const InputTable& inputs, RowsApart rows = RowsApart::never);

  const Operation& operation() const override { return operation_; }
  std::string provider() const override { return "builtin"; }
  std::string algorithm() const override { return {}; }
  bool runs_reference_loops() const override {
    return !std::holds_alternative<Copy>(operation_.parameters());
  }
  /// Words of 8 bytes are the widest written; x86 loads vectors from any address.
  std::optional<Bytes> operand_alignment() const override { return Bytes(8); }
  bool has_row_strides() const override { return has_row_strides_; }
  bool lies_in_pages() const override { return !operands_.empty(); }
  bool produce_inputs(NativeQueue) override;
  std::vector<MemoryRegion> memory() const override;
  void poison_outputs() override;
  std::vector<double> read_operand(std::size_t index) override;

  // For the reference, which sets its operands.
  void write_operand(std::size_t index, const std::vector<double>& values);
  double read_element(std::size_t operand, std::int64_t index) const;
  /// Calls `look` with index and value of each element, in order.
  void for_each_element(std::size_t operand, const std::function<void(std::int64_t, double)>& look) const;
  /// Writes one element of an output, and perhaps others, at no more than its share of the cost of run().
  /// False if only run() can.
  virtual bool compute_element(std::size_t /*operand*/, std::int64_t /*index*/) { return false; }

 protected:
  template <class Element = void>
  Element* data(std::size_t index) const {
    return reinterpret_cast<Element*>(places_[index].begin());
  }

 private:
  /// An operand's memory: its own, or a part of another's.
  struct Place {
    std::shared_ptr<AlignedMemory> memory;
    Bytes offset, size;

    static Place of_its_own(Bytes size, const InputData& data);
    std::byte* begin() const { return memory->data() + offset.value(); }
  };
  /// Returns the part of this operation's memory that another shares.
  Place part(const SharedOperand& shared, Bytes size) const;

  Operation operation_;
  std::vector<Operand> operands_;
  bool has_row_strides_;
  std::vector<OperandRows> rows_;
  std::vector<Place> places_;
};

/// Strides, in elements, of a four-dimensional tensor: n·c·h·w in nchw or nhwc order. Weights are k·c·r·s.
struct Strides {
  std::int64_t n = 0, c = 0, h = 0, w = 0;

  std::int64_t at(std::int64_t i, std::int64_t j, std::int64_t row, std::int64_t column) const {
    return i * n + j * c + row * h + column * w;
  }
};

inline Strides strides(std::int64_t c, std::int64_t h, std::int64_t w, Layout layout) {
  if (layout == Layout::nchw) return {.n = c * h * w, .c = h * w, .h = w, .w = 1};
  return {.n = h * w * c, .c = 1, .h = w * c, .w = c};
}

/// Returns i, j, row and column of an element, from its index in memory order.
inline std::array<std::int64_t, 4> position(std::int64_t index, std::int64_t c, std::int64_t h,
                                            std::int64_t w, Layout layout) {
  const std::int64_t image = index % (c * h * w);
  if (layout == Layout::nchw) return {index / (c * h * w), image / (h * w), image / w % h, image % w};
  return {index / (c * h * w), image % c, image / (w * c), image / c % w};
}

/// Below this many elements, starting the threads takes longer than the loop.
inline constexpr std::int64_t kParallel = 1 << 15;

/// Calls `make` with the format of a type, as in make(Half()).
template <class Make>
std::unique_ptr<PreparedOperation> with_loop_format(DataType dtype, const Make& make) {
  switch (dtype) {
    case DataType::f64: return make(Native<double>());
    case DataType::f32: return make(Native<float>());
    case DataType::f16: return make(Half());
    case DataType::bf16: return make(BFloat16());
    case DataType::i64:
    case DataType::i32:
    case DataType::tf32: break;
  }
  throw std::logic_error("require_data_type let a type through that loops are not computed in");
}

/// Prepares Loops<Format> for the operation's type. Loops sum in double; attention sums a few
/// products at a time in the type of its arithmetic.
template <template <class> class Loops>
std::unique_ptr<PreparedOperation> prepare_loops(const Operation& operation, const InputTable& inputs) {
  return with_loop_format(operation.dtype(), [&]<class Format>(Format) -> std::unique_ptr<PreparedOperation> {
    return std::make_unique<Loops<Format>>(operation, inputs);
  });
}

/// A stored element as a double; narrow() is the reverse.
template <class Format>
double wide(typename Format::Stored stored) {
  return static_cast<double>(Format::read(stored));
}
template <class Format>
typename Format::Stored narrow(double value) {
  return Format::write(static_cast<typename Format::Value>(value));
}

}  // namespace jitterscope::cpu
