#include "device/cuda/cuda_operation.hpp"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "device/can_run.hpp"
#include "device/cuda/driver.hpp"
#include "device/cuda/kernels.hpp"
#include "device/operands.hpp"
#include "jitterscope/error.hpp"

namespace jitterscope::cuda {
namespace {

constexpr unsigned char kGuardByte = 0xa5;

}  // namespace

CudaOperation::CudaOperation(const Context& context, const Operation& operation, const InputData& data,
                             Bytes guard, Bytes alignment, RowsApart rows)
    : context_(context),
      guard_(guard),
      alignment_(alignment),
      operation_(operation),
      descriptions_(operation.operands()),
      has_row_strides_(rows == RowsApart::as_asked && has_matrices(operation)),
      rows_(operand_rows(operation, data.rows)) {
  context_.make_current();
  if (data.rows != RowStride() && !has_row_strides_) {
    throw UsageError(fmt::format("{}: its operands have no rows that could lie apart", operation_.text()));
  }
  if (data.offset.value() % alignment_.value() != 0) {
    throw UsageError(
        fmt::format("{}: operands {} bytes behind where they are would not lie at multiples of {}, "
                    "which its kernels need; take an offset that is one",
                    operation_.text(), data.offset.value(), alignment_.value()));
  }
  allocate(data);
  for (std::size_t i = 0; i < descriptions_.size(); ++i) {
    if (descriptions_[i].role != OperandRole::input || places_[i].is_filled) continue;
    fill(i, data);
  }
  CudaOperation::poison_outputs();
}

// Gives each element the value that it has in packed rows.
void CudaOperation::fill(std::size_t index, const InputData& data) {
  const Operand& description = descriptions_[index];
  if (rows_[index].are_packed()) return fill_operand(context_, operand(index), description, index, data);
  require_device_memory(context_, operation_, description.bytes());
  const DeviceMemory packed(description.bytes());
  fill_operand(context_, packed.address(), description, index, data);
  copy_rows(context_, description.dtype, rows_[index], {packed.address(), rows_[index].length},
            {operand(index), rows_[index].stride});
  check(driver().cuStreamSynchronize(context_.stream()), "filling " + description.name);
}

void CudaOperation::allocate(const InputData& data) {
  Bytes needed(0);
  for (std::size_t i = 0; i < descriptions_.size(); ++i) {
    const SharedOperand* shared = find_shared(data, i, held_bytes(i));
    const auto* owner = shared ? dynamic_cast<const CudaOperation*>(shared->owner) : nullptr;
    const auto memory = shared && !owner ? owned_memory(*shared) : std::nullopt;  // PyTorch owns it
    Place place;
    if (owner != nullptr) place = owner->places_[shared->owner_operand];
    if (memory) place.address = reinterpret_cast<CUdeviceptr>(memory->address);
    if (place.address != 0) {
      place.address += static_cast<CUdeviceptr>(shared->offset.value());
      place.is_filled = is_filled_by_owner(*shared);
      place.is_guarded = false;  // the rest of the owner's operand lies around it
    } else {
      needed += held_bytes(i) + data.offset + guard_ + guard_;
    }
    places_.push_back(std::move(place));
  }
  require_device_memory(context_, operation_, needed);
  if (data.placement) context_.pages().choose(*data.placement);
  PhysicalPool* pages = data.placement || data.heap_piece > 0 ? &context_.pages() : nullptr;
  for (std::size_t i = 0; i < descriptions_.size(); ++i) {
    if (places_[i].address != 0) continue;
    const Bytes size = held_bytes(i) + data.offset + guard_ + guard_;
    places_[i].memory = std::make_shared<PlacedMemory>(pages, size, data.heap_piece);
    places_[i].address =
        places_[i].memory->address() + static_cast<CUdeviceptr>((guard_ + data.offset).value());
    places_[i].is_guarded = guard_ > Bytes(0);
    if (!places_[i].is_guarded) continue;
    for (const CUdeviceptr zone : {address_before(i), address_behind(i)}) {
      check(driver().cuMemsetD8Async(zone, kGuardByte, static_cast<std::size_t>(guard_.value()),
                                     context_.stream()),
            "marking the memory around an operand");
    }
  }
}

void CudaOperation::check_guards(std::string_view writer) const {
  context_.make_current();
  check(driver().cuCtxSynchronize(), fmt::format("waiting for {}", writer));
  std::vector<unsigned char> zone(static_cast<std::size_t>(guard_.value()));
  for (std::size_t i = 0; i < places_.size(); ++i) {
    if (!places_[i].is_guarded) continue;
    for (const bool behind : {true, false}) {
      check(driver().cuMemcpyDtoHAsync(zone.data(), behind ? address_behind(i) : address_before(i),
                                       zone.size(), context_.stream()),
            "reading the memory around an operand");
      check(driver().cuStreamSynchronize(context_.stream()), "reading the memory around an operand");
      if (std::ranges::all_of(zone, [](unsigned char byte) { return byte == kGuardByte; })) continue;
      throw FailedError(fmt::format("{} wrote outside of {}, {} its {} elements; check what it indexes with",
                                    writer, descriptions_[i].name, behind ? "behind" : "before",
                                    descriptions_[i].count));
    }
  }
}

bool CudaOperation::produce_inputs(NativeQueue queue) {
  for (const Place& place : places_) {
    if (place.address % static_cast<CUdeviceptr>(kVector.value()) != 0) return false;
  }
  for (std::size_t i = 0; i < descriptions_.size(); ++i) {
    if (descriptions_[i].role != OperandRole::input) continue;
    context_.kernels().touch(static_cast<CUstream>(queue), {operand_pointer(i), held_bytes(i)});
  }
  return true;
}

std::vector<MemoryRegion> CudaOperation::memory() const {
  std::vector<MemoryRegion> regions;
  for (std::size_t i = 0; i < descriptions_.size(); ++i) {
    regions.push_back({operand_pointer(i), held_bytes(i)});
  }
  return regions;
}

bool CudaOperation::place_anew() {
  context_.make_current();
  check(driver().cuCtxSynchronize(), "waiting for the GPU before operands are moved");
  bool moved = true;  // the place of an operation without operands does not matter
  for (Place& place : places_) {
    // Moving memory that another operation shares would move that operation's operand as well.
    const bool is_own = place.memory && place.memory.use_count() == 1;
    moved = moved && is_own && place.memory->place_anew(context_.stream());
  }
  if (moved) {
    context_.workspaces().visit([&](PlacedMemory& block) { block.place_anew(context_.stream()); });
  }
  return moved;
}

void CudaOperation::poison_outputs() {
  context_.make_current();
  for (std::size_t i = 0; i < descriptions_.size(); ++i) {
    if (descriptions_[i].role == OperandRole::output)
      poison_device_memory(context_, operand(i), held_bytes(i));
  }
  check(driver().cuCtxSynchronize(), "preparing the operands of " + operation_.text());
}

std::vector<double> CudaOperation::read_operand(std::size_t index) {
  const Operand& description = descriptions_.at(index);
  if (rows_[index].are_packed()) return read_as_double(context_, operand(index), description);
  context_.make_current();
  const DeviceMemory packed(description.bytes());
  copy_rows(context_, description.dtype, rows_[index], {operand(index), rows_[index].stride},
            {packed.address(), rows_[index].length});
  return read_as_double(context_, packed.address(), description);
}

namespace {

constexpr int kPoisonByte = 0xff;
// Number of doubles that pass through page-locked memory at once: 32 MiB.
constexpr std::int64_t kElementsPerPiece = std::int64_t{4} << 20;

}  // namespace

void require_device_memory(const Context& context, const Operation& operation, Bytes needed) {
  const Bytes free = context.free_memory();
  // Memory that the pool holds for other placements is free, but must be given back first.
  if (needed + context.pages().free() > free) context.pages().release_free();
  require_memory(operation.text(), needed, free, fmt::format("cuda:{}", context.ordinal()));
}

void fill_operand(const Context& context, CUdeviceptr address, const Operand& operand, std::size_t index,
                  const InputData& data) {
  // An odd 64-bit factor keeps (seed, operand) pairs apart.
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
