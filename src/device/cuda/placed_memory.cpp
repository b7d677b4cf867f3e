#include "device/cuda/placed_memory.hpp"

#include <algorithm>
#include <utility>

#include "device/cuda/driver.hpp"
#include "jitterscope/error.hpp"

namespace jitterscope::cuda {
namespace {

// The pool holds so many times what is placed, so that placements drawn in one process differ as those of
// many processes do: a mean over draws is as uncertain as one over so many processes. Not more than 4 GiB and
// a quarter of what is free, since others may need memory.
constexpr std::size_t kPlacements = 64;
constexpr std::int64_t kMostBytes = std::int64_t{4} << 30;
// Blocks of one size, one behind the other, would always lie a multiple of it apart.
constexpr std::int64_t kMostPagesOfGap = 16;

CUmemAllocationProp properties(const CUmemLocation& location) {
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location = location;
  return properties;
}

std::int64_t round_up(std::int64_t value, std::int64_t step) { return (value + step - 1) / step * step; }

std::int64_t granularity_of(CUdevice device, const CUmemLocation& location) {
  if (driver().cuMemCreate == nullptr || driver().cuMemAddressReserve == nullptr) return 0;
  int supported = 0;
  const auto asked = driver().cuDeviceGetAttribute(
      &supported, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, device);
  if (asked != CUDA_SUCCESS || supported == 0) return 0;
  const CUmemAllocationProp wanted = properties(location);
  std::size_t granularity = 0;
  const auto found =
      driver().cuMemGetAllocationGranularity(&granularity, &wanted, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED);
  return found == CUDA_SUCCESS ? static_cast<std::int64_t>(granularity) : 0;
}

}  // namespace

PhysicalPool::PhysicalPool(int ordinal, CUdevice device)
    : ordinal_(ordinal), granularity_(granularity_of(device, location())) {}

Bytes PhysicalPool::rounded(Bytes size) const { return Bytes(round_up(size.value(), granularity_)); }

PhysicalMemory PhysicalPool::make(Bytes size) {
  const CUmemAllocationProp wanted = properties(location());
  PhysicalMemory block = 0;
  CUresult made = driver().cuMemCreate(&block, static_cast<std::size_t>(size.value()), &wanted, 0);
  if (made == CUDA_ERROR_OUT_OF_MEMORY && free_ > Bytes(0)) {
    release_free();
    made = driver().cuMemCreate(&block, static_cast<std::size_t>(size.value()), &wanted, 0);
  }
  check(made, "allocating operands on the GPU");
  return block;
}

void PhysicalPool::leave_gap(Bytes room) {
  const Bytes size(granularity_ * static_cast<std::int64_t>(1 + random_.below(kMostPagesOfGap)));
  if (size > room) return;
  // Not by make(), which would give back what was made a moment ago where memory is full.
  const CUmemAllocationProp wanted = properties(location());
  PhysicalMemory gap = 0;
  const auto made = driver().cuMemCreate(&gap, static_cast<std::size_t>(size.value()), &wanted, 0);
  if (made != CUDA_SUCCESS) return;
  gaps_.push_back(gap);
  free_ += size;
}

PhysicalMemory PhysicalPool::take(Bytes size) {
  std::size_t free = 0, total = 0;
  check(driver().cuMemGetInfo(&free, &total), "reading the GPU's free memory");
  const Bytes room = Bytes(std::min(kMostBytes, static_cast<std::int64_t>(free) / 4)) - free_;
  const auto known = [&]() -> std::vector<PhysicalMemory>& { return blocks_[size.value()]; };
  if (known().size() < kPlacements && size <= room) {
    give_back(size, make(size));
    leave_gap(room - size);
  } else if (known().empty()) {
    return make(size);
  }
  std::vector<PhysicalMemory>& blocks = known();
  std::swap(blocks[random_.below(blocks.size())], blocks.back());
  const PhysicalMemory taken = blocks.back();
  blocks.pop_back();
  free_ -= size;
  return taken;
}

void PhysicalPool::give_back(Bytes size, PhysicalMemory block) {
  blocks_[size.value()].push_back(block);
  free_ += size;
}

void PhysicalPool::release_free() {
  for (const auto& [size, blocks] : blocks_) {
    for (const PhysicalMemory block : blocks) driver().cuMemRelease(block);
  }
  for (const PhysicalMemory gap : gaps_) driver().cuMemRelease(gap);
  blocks_.clear();
  gaps_.clear();
  free_ = Bytes(0);
}

PlacedMemory::PlacedMemory(PhysicalPool* pool, Bytes size) : pool_(pool), size_(size) {
  if (size_.value() == 0) return;
  if (pool_ == nullptr || !pool_->is_usable()) {
    plain_ = DeviceMemory(size_);
    address_ = plain_.address();
    return;
  }
  mapped_ = pool_->rounded(size_);
  const auto bytes = static_cast<std::size_t>(mapped_.value());
  check(driver().cuMemAddressReserve(&address_, bytes, 0, 0, 0), "reserving addresses on the GPU");
  try {
    block_ = pool_->take(mapped_);
    map(address_, block_);
  } catch (...) {
    if (block_ != 0) pool_->give_back(mapped_, block_);
    driver().cuMemAddressFree(address_, bytes);
    throw;
  }
}

PlacedMemory::~PlacedMemory() {
  if (block_ == 0) return;
  const auto bytes = static_cast<std::size_t>(mapped_.value());
  driver().cuMemUnmap(address_, bytes);
  driver().cuMemAddressFree(address_, bytes);
  pool_->give_back(mapped_, block_);
}

void PlacedMemory::map(CUdeviceptr address, PhysicalMemory block) const {
  const auto bytes = static_cast<std::size_t>(mapped_.value());
  check(driver().cuMemMap(address, bytes, 0, block, 0), "mapping memory of the GPU");
  CUmemAccessDesc access{};
  access.location = pool_->location();
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  check(driver().cuMemSetAccess(address, bytes, &access, 1), "mapping memory of the GPU");
}

bool PlacedMemory::place_anew(CUstream stream) {
  if (block_ == 0) return false;
  PhysicalMemory other = 0;
  try {
    other = pool_->take(mapped_);
  } catch (const FailedError&) {
    return false;
  }
  const auto bytes = static_cast<std::size_t>(mapped_.value());
  // What it holds goes by way of a second address: an operation's inputs may be more than random numbers.
  CUdeviceptr second = 0;
  check(driver().cuMemAddressReserve(&second, bytes, 0, 0, 0), "reserving addresses on the GPU");
  map(second, other);
  check(driver().cuMemcpyDtoDAsync(second, address_, static_cast<std::size_t>(size_.value()), stream),
        "moving operands");
  check(driver().cuStreamSynchronize(stream), "moving operands");
  check(driver().cuMemUnmap(second, bytes), "moving operands");
  check(driver().cuMemAddressFree(second, bytes), "moving operands");
  check(driver().cuMemUnmap(address_, bytes), "moving operands");
  map(address_, other);
  pool_->give_back(mapped_, std::exchange(block_, other));
  return true;
}

}  // namespace jitterscope::cuda
