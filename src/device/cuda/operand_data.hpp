// Filling, poisoning and reading back operands that live on the GPU.
#pragma once

#include <vector>

#include "device/cuda/context.hpp"
#include "device/cuda/memory.hpp"
#include "device/operand_rows.hpp"
#include "jitterscope/device.hpp"

namespace jitterscope::cuda {

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
