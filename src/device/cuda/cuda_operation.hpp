// Base of all operations on a GPU: operands in device memory that are filled, poisoned and read back.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "device/cuda/driver.hpp"
#include "device/cuda/memory.hpp"
#include "device/operands.hpp"
#include "jitterscope/device.hpp"

namespace jitterscope::cuda {

/// Base of the operations whose operands all live on the GPU. A provider derives from it, chooses its
/// algorithm in the constructor and implements provider(), algorithm() and run().
class CudaOperation : public PreparedOperation {
 public:
  const Operation& operation() const override { return operation_; }
  bool produce_inputs(NativeQueue queue) override;
  std::vector<MemoryRegion> memory() const override;
  /// Moves the workspaces as well, including those of other operations.
  bool place_anew() override;
  std::optional<Bytes> operand_alignment() const override { return alignment_; }
  bool has_row_strides() const override { return has_row_strides_; }
  bool lies_in_pages() const override { return !descriptions_.empty() && context_.pages().is_usable(); }
  void poison_outputs() override;
  std::vector<double> read_operand(std::size_t index) override;

 protected:
  static constexpr Bytes kVector = Bytes(16);

  /// Allocates the operands, fills the inputs as `data` says and poisons the outputs. Leaves the context
  /// current. Operands that are allocated here have `guard` bytes of known content before and behind them.
  /// The kernels must accept operands at any multiple of `alignment`; 16 bytes are the widest access of a
  /// thread. A kernel that meets less than it was chosen for ends in a fault, which costs the process its
  /// context. Throws UsageError if the operands do not fit into free memory (with both numbers), if
  /// data.offset is no multiple of `alignment`, or if data.rows is given but `rows` is never.
  CudaOperation(const Context& context, const Operation& operation, const InputData& data,
                Bytes guard = Bytes(0), Bytes alignment = kVector, RowsApart rows = RowsApart::never);

  /// Waits for the GPU. Throws FailedError that names the operand if `writer` wrote beside it.
  void check_guards(std::string_view writer) const;

  const Context& context() const { return context_; }
  /// Returns the device address of operation().operands()[index].
  CUdeviceptr operand(std::size_t index) const { return places_[index].address; }
  void* operand_pointer(std::size_t index) const {
    return reinterpret_cast<void*>(operand(index));  // NOLINT: as the libraries take it
  }

 private:
  /// Memory of an operand: its own, or a part of another operation's operand.
  struct Place {
    std::shared_ptr<PlacedMemory> memory;
    CUdeviceptr address = 0;
    bool is_filled = false;   ///< the owner of the memory fills it
    bool is_guarded = false;  ///< in memory of its own, with guards around it
  };
  void allocate(const InputData& data);
  void fill(std::size_t index, const InputData& data);
  Bytes held_bytes(std::size_t index) const { return bytes_with_rows(descriptions_[index], rows_[index]); }
  CUdeviceptr address_before(std::size_t index) const {
    return operand(index) - static_cast<CUdeviceptr>(guard_.value());
  }
  CUdeviceptr address_behind(std::size_t index) const {
    return operand(index) + static_cast<CUdeviceptr>(held_bytes(index).value());
  }

  const Context& context_;
  Bytes guard_, alignment_;
  Operation operation_;
  std::vector<Operand> descriptions_;
  bool has_row_strides_;
  std::vector<OperandRows> rows_;
  std::vector<Place> places_;
};

// Functions that fill, poison and read back operands on the GPU.

/// Throws UsageError with both numbers if the GPU has less than `needed` free.
void require_device_memory(const Context&, const Operation&, Bytes needed);

/// Enqueues on the context's stream. `index` makes the operands of one operation differ from each other.
void fill_operand(const Context&, CUdeviceptr address, const Operand&, std::size_t index, const InputData&);

/// First row's address, and the stride of rows in elements. copy_rows() copies between two of these and
/// enqueues on the context's stream.
struct RowsAt {
  CUdeviceptr address = 0;
  std::int64_t stride = 0;
};
void copy_rows(const Context&, DataType, const OperandRows&, RowsAt from, RowsAt to);

/// Sets all bits, a NaN in every floating-point type. Enqueues on the context's stream.
void poison_device_memory(const Context&, CUdeviceptr address, Bytes size);

/// Waits for the device, then converts there in pieces, so that the GPU needs no copy of the whole tensor.
std::vector<double> read_as_double(const Context&, CUdeviceptr address, const Operand&);

}  // namespace jitterscope::cuda
