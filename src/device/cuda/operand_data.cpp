#include "device/cuda/operand_data.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "device/can_run.hpp"
#include "device/cuda/driver.hpp"
#include "device/cuda/kernels.hpp"
#include "jitterscope/error.hpp"

namespace jitterscope::cuda {
namespace {

constexpr int kPoisonByte = 0xff;
// Doubles that pass through page-locked memory at once: 32 MiB of it.
constexpr std::int64_t kElementsPerPiece = std::int64_t{4} << 20;

}  // namespace

void require_device_memory(const Context& context, const Operation& operation, Bytes needed) {
  const Bytes free = context.free_memory();
  // What the pool holds for other placements is free, but only when it is given back.
  if (needed + context.pages().free() > free) context.pages().release_free();
  require_memory(operation.text(), needed, free, fmt::format("cuda:{}", context.ordinal()));
}

void fill_operand(const Context& context, CUdeviceptr address, const Operand& operand, std::size_t index,
                  const InputData& data) {
  // An odd factor of 64 random bits keeps (seed, operand) pairs apart.
  const std::uint64_t seed = data.seed + 0xd1342543de82ef95u * (index + 1);
  InputData own = data;
  own.seed = seed;
  context.kernels().fill_random(context.stream(), address, operand, own);
}

void copy_rows(const Context& context, DataType dtype, const OperandRows& rows, RowsAt from, RowsAt to) {
  const auto element = static_cast<std::size_t>(element_size(dtype).value());
  CUDA_MEMCPY2D copy{};
  copy.srcMemoryType = copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.srcDevice = from.address;
  copy.srcPitch = static_cast<std::size_t>(from.stride) * element;
  copy.dstDevice = to.address;
  copy.dstPitch = static_cast<std::size_t>(to.stride) * element;
  copy.WidthInBytes = static_cast<std::size_t>(rows.length) * element;
  copy.Height = static_cast<std::size_t>(rows.count);
  check(driver().cuMemcpy2DAsync(&copy, context.stream()), "copying the rows of an operand");
}

void poison_device_memory(const Context& context, CUdeviceptr address, Bytes size) {
  if (size.value() == 0) return;
  check(driver().cuMemsetD8Async(address, kPoisonByte, static_cast<std::size_t>(size.value()),
                                 context.stream()),
        "poisoning an output");
}

std::vector<double> read_as_double(const Context& context, CUdeviceptr address, const Operand& operand) {
  context.make_current();
  check(driver().cuCtxSynchronize(), "waiting for the GPU before reading " + operand.name);
  std::vector<double> values(static_cast<std::size_t>(operand.count));
  const PinnedMemory piece(
      Bytes(std::min(kElementsPerPiece, operand.count) * static_cast<std::int64_t>(sizeof(double))));
  for (std::int64_t first = 0; first < operand.count; first += kElementsPerPiece) {
    const std::int64_t count = std::min(kElementsPerPiece, operand.count - first);
    const std::int64_t offset = first * element_size(operand.dtype).value();
    context.kernels().to_double(context.stream(), piece.device_address(),
                                address + static_cast<CUdeviceptr>(offset), operand.dtype, count);
    check(driver().cuStreamSynchronize(context.stream()), "reading " + operand.name + " back");
    std::memcpy(values.data() + first, piece.pointer(), static_cast<std::size_t>(count) * sizeof(double));
  }
  return values;
}

}  // namespace jitterscope::cuda
