// Operations that take GPU memory and give it back in each launch.
#include <fmt/format.h>

#include <stdexcept>
#include <vector>

#include "device/allocation/allocators.hpp"
#include "device/cuda/cuda_operation.hpp"
#include "device/cuda/driver.hpp"
#include "device/cuda/operations/operations.hpp"
#include "jitterscope/error.hpp"

namespace jitterscope::cuda {
namespace {

std::size_t count_of(Bytes size) { return static_cast<std::size_t>(size.value()); }

Bytes free_now() {
  std::size_t free = 0, total = 0;
  check(driver().cuMemGetInfo(&free, &total), "reading the GPU's free memory");
  return Bytes(static_cast<std::int64_t>(free));
}

std::uintptr_t taken_from_driver(Bytes size) {
  CUdeviceptr address = 0;
  check(driver().cuMemAlloc(&address, count_of(size)),
        fmt::format("allocating {} bytes on the GPU", size.value()));
  return address;
}

/// Uses cuMemAlloc and cuMemFree. held() is the decrease of the GPU's free memory: the driver rounds up.
class DriverMemory final : public MemoryAllocator {
 public:
  std::uintptr_t allocate(Bytes size) override { return taken_from_driver(size); }
  void release(std::uintptr_t address) override {
    check(driver().cuMemFree(address), "freeing memory of the GPU");
  }
  Bytes held() const override { return before_ - free_now(); }

 private:
  Bytes before_ = free_now();
};

/// The driver's stream-ordered pool; its own, so that nobody else's memory is in it.
class DriverPool final : public MemoryAllocator {
 public:
  DriverPool(const Context& context, bool keeps) : stream_(context.stream()) {
    if (context.attribute(CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED) == 0) {
      throw UsageError(fmt::format(
          "allocation: cuda:{} has no stream-ordered pools; use by=malloc or by=cache", context.ordinal()));
    }
    CUmemPoolProps properties{};
    properties.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, context.ordinal()};
    check(driver().cuMemPoolCreate(&pool_, &properties), "making a pool of memory");
    cuuint64_t threshold = keeps ? UINT64_MAX : 0;
    const CUresult set = driver().cuMemPoolSetAttribute(pool_, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &threshold);
    if (set != CUDA_SUCCESS) driver().cuMemPoolDestroy(pool_);
    check(set, "telling a pool what to keep");
  }
  ~DriverPool() override {
    driver().cuStreamSynchronize(stream_);
    driver().cuMemPoolDestroy(pool_);
  }
  DriverPool(const DriverPool&) = delete;
  DriverPool& operator=(const DriverPool&) = delete;

  /// From now on allocates and frees in the order of this stream.
  void use(CUstream stream) { stream_ = stream; }
  std::uintptr_t allocate(Bytes size) override {
    CUdeviceptr address = 0;
    check(driver().cuMemAllocFromPoolAsync(&address, count_of(size), pool_, stream_),
          fmt::format("allocating {} bytes from a pool on the GPU", size.value()));
    return address;
  }
  void release(std::uintptr_t address) override {
    check(driver().cuMemFreeAsync(address, stream_), "freeing memory of a pool");
  }
  Bytes held() const override {
    cuuint64_t reserved = 0;
    check(driver().cuMemPoolGetAttribute(pool_, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, &reserved),
          "asking what a pool holds");
    return Bytes(static_cast<std::int64_t>(reserved));
  }

 private:
  CUstream stream_;
  CUmemoryPool pool_ = nullptr;
};

class DriverSegments final : public SegmentSource {
 public:
  std::uintptr_t take(Bytes size) override { return taken_from_driver(size); }
  void give_back(std::uintptr_t address, Bytes) override { driver().cuMemFree(address); }
};

/// One address range as long as the GPU's memory, into which pages are mapped from its beginning on, as
/// PyTorch does with expandable_segments:True.
class ExpandableRange final : public SegmentSource {
 public:
  ExpandableRange(const Context& context, Bytes page) : context_(context), page_(page) {
    if (!context_.pages().is_usable()) {
      throw UsageError(
          fmt::format("allocation: cuda:{} cannot map memory into a range of addresses; use by=cache",
                      context_.ordinal()));
    }
    std::size_t total = 0;
    check(driver().cuDeviceTotalMem(&total, context_.device()), "reading the GPU's memory size");
    const std::size_t page_size = count_of(page_);
    range_ = (total + page_size - 1) / page_size * page_size;
    check(driver().cuMemAddressReserve(&begin_, range_, 0, 0, 0), "reserving addresses on the GPU");
  }
  ~ExpandableRange() override {
    unmap();
    driver().cuMemAddressFree(begin_, range_);
  }
  ExpandableRange(const ExpandableRange&) = delete;
  ExpandableRange& operator=(const ExpandableRange&) = delete;

  std::uintptr_t take(Bytes size) override {
    const std::size_t first = pages_.size(), count = count_of(size) / count_of(page_);
    const CUdeviceptr begin = end();
    if (begin + count_of(size) > begin_ + range_) {
      throw FailedError("growing a range of addresses: the GPU is out of memory");
    }
    try {
      for (std::size_t i = 0; i < count; ++i) map_page();
      CUmemAccessDesc access{};
      access.location = context_.pages().location();
      access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
      check(driver().cuMemSetAccess(begin, count_of(size), &access, 1), "mapping memory of the GPU");
    } catch (...) {
      while (pages_.size() > first) unmap_last();
      throw;
    }
    return begin;
  }
  void give_back(std::uintptr_t, Bytes) override { unmap(); }

 private:
  CUdeviceptr end() const { return begin_ + pages_.size() * count_of(page_); }

  void map_page() {
    CUmemAllocationProp properties{};
    properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.location = context_.pages().location();
    PhysicalMemory page = 0;
    check(driver().cuMemCreate(&page, count_of(page_), &properties, 0), "allocating a page on the GPU");
    const CUresult mapped = driver().cuMemMap(end(), count_of(page_), 0, page, 0);
    if (mapped != CUDA_SUCCESS) driver().cuMemRelease(page);
    check(mapped, "mapping memory of the GPU");
    pages_.push_back(page);
  }
  void unmap_last() {
    const PhysicalMemory page = pages_.back();
    pages_.pop_back();
    driver().cuMemUnmap(end(), count_of(page_));
    driver().cuMemRelease(page);
  }
  // Unmaps all pages, once nothing uses them any more.
  void unmap() {
    driver().cuStreamSynchronize(context_.stream());
    while (!pages_.empty()) unmap_last();
  }

  const Context& context_;
  Bytes page_;
  std::size_t range_ = 0;
  CUdeviceptr begin_ = 0;
  std::vector<PhysicalMemory> pages_;
};

class AllocationOperation final : public PreparedOperation {
 public:
  AllocationOperation(const Context& context, const Operation& operation)
      : context_(context),
        operation_(operation),
        allocation_(std::get<Allocation>(operation.parameters())),
        replay_(pattern_of(allocation_)) {
    require_device_memory(context_, operation_, most_at_once(replay_.pattern()));
    context_.make_current();
    make_allocator();
    held_ = replay_.run_watched(*allocator_);
    check(driver().cuCtxSynchronize(), "preparing " + operation_.text());
  }
  ~AllocationOperation() override {
    driver().cuCtxSetCurrent(context_.handle());
    driver().cuCtxSynchronize();
  }
  AllocationOperation(const AllocationOperation&) = delete;
  AllocationOperation& operator=(const AllocationOperation&) = delete;

  const Operation& operation() const override { return operation_; }
  std::string provider() const override { return "builtin"; }
  std::string algorithm() const override;
  std::optional<HeldMemory> held_memory() const override { return held_; }
  /// True, because a hold would hide the cost, which is host time, and because cuMemFree waits for the GPU.
  bool waits_for_queue() const override { return true; }
  void prepare_recording(NativeQueue) override {
    throw UsageError(operation_.text() + " allocates on the host's side, which a recording does not hold");
  }
  void run(NativeQueue queue) override {
    auto* stream = static_cast<CUstream>(queue);
    if (pool_ != nullptr) pool_->use(stream);
    replay_.run(*allocator_, [&](std::uintptr_t address, Bytes size) {
      if (!allocation_.touch) return;
      check(driver().cuMemsetD8Async(address, 1, count_of(size), stream), "filling what was allocated");
    });
  }
  void poison_outputs() override {}
  std::vector<double> read_operand(std::size_t) override {
    throw std::logic_error("an allocation has no operands");
  }

 private:
  void make_allocator();

  const Context& context_;
  Operation operation_;
  Allocation allocation_;
  PatternReplay replay_;
  DeviceMemory placed_;
  std::unique_ptr<MemoryAllocator> allocator_;
  DriverPool* pool_ = nullptr;  // the allocator if it is a pool, else null
  HeldMemory held_;
};

void AllocationOperation::make_allocator() {
  using Growth = CachingAllocator::Growth;
  switch (allocation_.by) {
    case Allocator::malloc: allocator_ = std::make_unique<DriverMemory>(); return;
    case Allocator::pool:
    case Allocator::pool_kept: {
      auto pool = std::make_unique<DriverPool>(context_, allocation_.by == Allocator::pool_kept);
      pool_ = pool.get();
      allocator_ = std::move(pool);
      return;
    }
    case Allocator::cache:
      allocator_ = std::make_unique<CachingAllocator>(Growth::segments, std::make_unique<DriverSegments>(),
                                                      std::make_unique<DriverSegments>());
      return;
    case Allocator::expandable:
      allocator_ = std::make_unique<CachingAllocator>(
          Growth::range, std::make_unique<ExpandableRange>(context_, CachingAllocator::kSmallSegment),
          std::make_unique<ExpandableRange>(context_, CachingAllocator::kLargeSegment));
      return;
    case Allocator::preallocated: {
      PlacedBlocks blocks = place_blocks(replay_.pattern());
      placed_ = DeviceMemory(blocks.size);
      allocator_ = std::make_unique<Preallocated>(placed_.address(), std::move(blocks));
      return;
    }
  }
}

std::string AllocationOperation::algorithm() const {
  switch (allocation_.by) {
    case Allocator::malloc: return "cuMemAlloc, cuMemFree";
    case Allocator::pool: return "cuMemAllocFromPoolAsync, cuMemFreeAsync";
    case Allocator::pool_kept: return "cuMemAllocFromPoolAsync, cuMemFreeAsync, release threshold 2^64-1";
    case Allocator::cache: return "lists of blocks from cuMemAlloc";
    case Allocator::expandable: return "lists of blocks from cuMemMap";
    case Allocator::preallocated: return "one block from cuMemAlloc";
  }
  return {};
}

}  // namespace

std::unique_ptr<PreparedOperation> prepare_allocation(const Context& context, const Operation& operation,
                                                      const InputData&) {
  return std::make_unique<AllocationOperation>(context, operation);
}

}  // namespace jitterscope::cuda
