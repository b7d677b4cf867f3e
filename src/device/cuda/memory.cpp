#include "device/cuda/memory.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <sys/resource.h>

#include "base/host.hpp"
#include "base/quantity_text.hpp"
#include "device/cuda/driver.hpp"
#include "jitterscope/error.hpp"

namespace jitterscope::cuda {
namespace {

std::string locked_memory_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_MEMLOCK, &limit) != 0) return "unknown";
  if (limit.rlim_cur == RLIM_INFINITY) return "unlimited";
  return bytes_text(Bytes(static_cast<std::int64_t>(limit.rlim_cur)));
}

// The driver also answers "out of memory" if the host may not page-lock more memory.
void check_page_locking(CUresult result, Bytes size) {
  if (result == CUDA_ERROR_OUT_OF_MEMORY || result == CUDA_ERROR_OPERATING_SYSTEM ||
      result == CUDA_ERROR_NOT_PERMITTED) {
    throw FailedError(fmt::format(
        "the system refuses to page-lock {} of host memory; take less, free some, or raise the limit "
        "(ulimit -l, now {})",
        bytes_text(size), locked_memory_limit()));
  }
  check(result, fmt::format("page-locking {} of host memory", bytes_text(size)));
}

}  // namespace

DeviceMemory::DeviceMemory(Bytes size) : size_(size) {
  if (size.value() == 0) return;
  check(driver().cuMemAlloc(&address_, static_cast<std::size_t>(size.value())),
        fmt::format("allocating {} bytes on the GPU", size.value()));
}

DeviceMemory::~DeviceMemory() {
  if (address_ != 0) driver().cuMemFree(address_);
}

PinnedMemory::PinnedMemory(Bytes size) : size_(size) {
  if (size.value() == 0) return;
  check_page_locking(
      driver().cuMemHostAlloc(&pointer_, static_cast<std::size_t>(size.value()), CU_MEMHOSTALLOC_DEVICEMAP),
      size);
}

PinnedMemory::~PinnedMemory() {
  if (pointer_ != nullptr) driver().cuMemFreeHost(pointer_);
}

Registration::Registration(void* pointer, Bytes size) : pointer_(pointer) {
  check_page_locking(driver().cuMemHostRegister(pointer, static_cast<std::size_t>(size.value()), 0), size);
}

Registration::~Registration() { driver().cuMemHostUnregister(pointer_); }

CUdeviceptr PinnedMemory::device_address() const {
  if (pointer_ == nullptr) return 0;
  CUdeviceptr address = 0;
  check(driver().cuMemHostGetDevicePointer(&address, pointer_, 0), "mapping host memory into the GPU");
  return address;
}

namespace {

// The pool holds so many blocks of a size, so that placements drawn in one process differ as those of many
// processes do: a mean over draws is as uncertain as one over as many processes. It takes at most 4 GiB and a
// quarter of the free memory, since others may need memory.
constexpr std::size_t kPlacements = 64;
constexpr std::int64_t kMostBytes = std::int64_t{4} << 30;
// Without gaps, adjacent blocks of one size would always lie a multiple of it apart.
constexpr std::int64_t kMostPagesOfGap = 16;

CUmemAllocationProp properties(const CUmemLocation& location) {
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location = location;
  return properties;
}

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
  // Not by make(), which would give back the block that was just made if memory is full.
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

std::vector<PhysicalMemory> PhysicalPool::take_scattered(Bytes size, std::size_t count) {
  // Taken out of the pool, because make() gives the pool's memory to the driver if memory is short.
  std::vector<PhysicalMemory> blocks = std::exchange(blocks_[size.value()], {});
  free_ -= size * std::ssize(blocks);
  try {
    while (blocks.size() < count) blocks.push_back(make(size));
  } catch (const FailedError&) {
    for (const PhysicalMemory block : blocks) give_back(size, block);
    throw;
  }
  std::size_t free = 0, total = 0;
  check(driver().cuMemGetInfo(&free, &total), "reading the GPU's free memory");
  Bytes room = Bytes(std::min(kMostBytes, static_cast<std::int64_t>(free) / 4)) - free_;
  for (; blocks.size() < 2 * count && size <= room; room -= size) blocks.push_back(make(size));
  shuffle(blocks, random_);
  for (; blocks.size() > count; blocks.pop_back()) give_back(size, blocks.back());
  return blocks;
}

PlacedMemory::PlacedMemory(PhysicalPool* pool, Bytes size, std::int64_t pages_per_piece)
    : pool_(pool), size_(size) {
  if (size_.value() == 0) return;
  if (pool_ == nullptr || !pool_->is_usable()) {
    plain_ = DeviceMemory(size_);
    address_ = plain_.address();
    return;
  }
  mapped_ = block_size_ = pool_->rounded(size_);
  if (pages_per_piece > 0) {
    block_size_ = std::min(mapped_, pool_->page() * pages_per_piece);
    mapped_ = Bytes(round_up(mapped_.value(), block_size_.value()));
  }
  const auto bytes = static_cast<std::size_t>(mapped_.value());
  check(driver().cuMemAddressReserve(&address_, bytes, 0, 0, 0), "reserving addresses on the GPU");
  try {
    blocks_ = take();
    map(address_, blocks_);
  } catch (...) {
    give_back(blocks_);
    driver().cuMemAddressFree(address_, bytes);
    throw;
  }
}

PlacedMemory::~PlacedMemory() {
  if (blocks_.empty()) return;
  unmap(address_);
  driver().cuMemAddressFree(address_, static_cast<std::size_t>(mapped_.value()));
  give_back(blocks_);
}

std::vector<PhysicalMemory> PlacedMemory::take() const {
  if (block_size_ == mapped_) return {pool_->take(mapped_)};
  return pool_->take_scattered(block_size_, static_cast<std::size_t>(mapped_ / block_size_));
}

void PlacedMemory::give_back(const std::vector<PhysicalMemory>& blocks) const {
  for (const PhysicalMemory block : blocks) pool_->give_back(block_size_, block);
}

void PlacedMemory::map(CUdeviceptr address, const std::vector<PhysicalMemory>& blocks) const {
  const auto bytes = static_cast<std::size_t>(block_size_.value());
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    check(driver().cuMemMap(address + i * bytes, bytes, 0, blocks[i], 0), "mapping memory of the GPU");
  }
  CUmemAccessDesc access{};
  access.location = pool_->location();
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  check(driver().cuMemSetAccess(address, static_cast<std::size_t>(mapped_.value()), &access, 1),
        "mapping memory of the GPU");
}

// Memory that was mapped piece by piece must be unmapped piece by piece.
void PlacedMemory::unmap(CUdeviceptr address) const {
  const auto bytes = static_cast<std::size_t>(block_size_.value());
  for (std::size_t i = 0; i < blocks_.size(); ++i) driver().cuMemUnmap(address + i * bytes, bytes);
}

bool PlacedMemory::place_anew(CUstream stream) {
  if (blocks_.empty()) return false;
  std::vector<PhysicalMemory> others;
  try {
    others = take();
  } catch (const FailedError&) {
    return false;
  }
  const auto bytes = static_cast<std::size_t>(mapped_.value());
  // Copies the contents to a second address, because an operation's inputs may be more than random numbers.
  CUdeviceptr second = 0;
  check(driver().cuMemAddressReserve(&second, bytes, 0, 0, 0), "reserving addresses on the GPU");
  map(second, others);
  check(driver().cuMemcpyDtoDAsync(second, address_, static_cast<std::size_t>(size_.value()), stream),
        "moving operands");
  check(driver().cuStreamSynchronize(stream), "moving operands");
  unmap(second);
  check(driver().cuMemAddressFree(second, bytes), "moving operands");
  unmap(address_);
  map(address_, others);
  give_back(std::exchange(blocks_, std::move(others)));
  return true;
}

}  // namespace jitterscope::cuda
