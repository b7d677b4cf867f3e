// What every operation on a GPU shares: operands in device memory, filled, poisoned, read back.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "device/cuda/driver.hpp"
#include "device/cuda/memory.hpp"
#include "device/operands.hpp"
#include "jitterscope/device.hpp"

namespace jitterscope::cuda {

/// Base of the operations whose operands all live on the GPU. A provider derives, chooses its algorithm
/// in the constructor and implements provider(), algorithm() and run().
class CudaOperation : public PreparedOperation {
 public:
  const Operation& operation() const override { return operation_; }
  bool produce_inputs(NativeQueue queue) override;
  std::vector<MemoryRegion> memory() const override;
  /// Workspaces move as well, those of other operations too.
  bool place_anew() override;
  std::optional<Bytes> operand_alignment() const override { return alignment_; }
  bool has_row_strides() const override { return has_row_strides_; }
  bool lies_in_pages() const override { return !descriptions_.empty() && context_.pages().is_usable(); }
  void poison_outputs() override;
  std::vector<double> read_operand(std::size_t index) override;

 protected:
  static constexpr Bytes kVector = Bytes(16);

  /// Checks that operands fit into free memory (UsageError with both numbers), allocates them, fills the
  /// inputs as `data` says and poisons the outputs. Leaves the context current. Operands that are allocated
  /// here have `guard` bytes of known content before and behind them. What launches here copes with operands
  /// at any multiple of `alignment`; 16 bytes are the widest access of a thread. A kernel that meets less
  /// than it was chosen for ends in a fault, which costs the process its context: so an offset that is no
  /// multiple is refused (UsageError), as rows apart are where they are never read so.
  CudaOperation(const Context& context, const Operation& operation, const InputData& data,
                Bytes guard = Bytes(0), Bytes alignment = kVector, RowsApart rows = RowsApart::never);

  /// Waits for the GPU. Throws FailedError that names the operand beside which `writer` wrote.
  void check_guards(std::string_view writer) const;

  const Context& context() const { return context_; }
  /// Device address of operation().operands()[index].
  CUdeviceptr operand(std::size_t index) const { return places_[index].address; }
  void* operand_pointer(std::size_t index) const {
    return reinterpret_cast<void*>(operand(index));  // NOLINT: as the libraries take it
  }

 private:
  /// Where an operand lies: alone in its memory, or in a part of another's.
  struct Place {
    std::shared_ptr<PlacedMemory> memory;
    CUdeviceptr address = 0;
    bool is_filled = false;   ///< by the operation that owns it
    bool is_guarded = false;  ///< the memory is its own, with guards around it
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

// Filling, poisoning and reading back operands that live on the GPU.

/// Throws UsageError with both numbers where `needed` is more than the GPU has free.
void require_device_memory(const Context&, const Operation&, Bytes needed);

/// Enqueues on the context's stream. `index` makes the operands of one operation differ from each other.
void fill_operand(const Context&, CUdeviceptr address, const Operand&, std::size_t index, const InputData&);

/// Rows from one place to another, each with a stride of its own in elements. Enqueues on the context's
/// stream.
struct RowsAt {
  CUdeviceptr address = 0;
  std::int64_t stride = 0;
};
void copy_rows(const Context&, DataType, const OperandRows&, RowsAt from, RowsAt to);

/// All bits set is a NaN in every data type. Enqueues on the context's stream.
void poison_device_memory(const Context&, CUdeviceptr address, Bytes size);

/// Waits for the device, then converts there, in pieces, so that no copy of the tensor is made on the GPU.
std::vector<double> read_as_double(const Context&, CUdeviceptr address, const Operand&);

}  // namespace jitterscope::cuda
