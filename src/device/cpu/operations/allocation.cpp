// Memory of the system, as malloc, a caching allocator over it, or one block made before gives it.
#include <malloc.h>

#include <cstring>
#include <stdexcept>

#include "device/allocation/caching_allocator.hpp"
#include "device/allocation/preallocated.hpp"
#include "device/allocation/replay.hpp"
#include "device/can_run.hpp"
#include "device/cpu/operations/prepare.hpp"
#include "jitterscope/error.hpp"

namespace jitterscope::cpu {
namespace {

void* pointer_of(std::uintptr_t address) {
  return reinterpret_cast<void*>(address);
}  // NOLINT: as malloc gives it

class SystemMemory final : public MemoryAllocator {
 public:
  std::uintptr_t allocate(Bytes size) override {
    void* block = std::malloc(static_cast<std::size_t>(size.value()));
    if (block == nullptr) throw FailedError("the system refused memory: free some, or take smaller blocks");
    held_ += static_cast<std::int64_t>(malloc_usable_size(block));
    return reinterpret_cast<std::uintptr_t>(block);
  }
  void release(std::uintptr_t address) override {
    held_ -= static_cast<std::int64_t>(malloc_usable_size(pointer_of(address)));
    std::free(pointer_of(address));
  }
  Bytes held() const override { return Bytes(held_); }

 private:
  std::int64_t held_ = 0;
};

class SystemSegments final : public SegmentSource {
 public:
  std::uintptr_t take(Bytes size) override { return memory_.allocate(size); }
  void give_back(std::uintptr_t address, Bytes) override { memory_.release(address); }

 private:
  SystemMemory memory_;
};

class AllocationOperation final : public CpuOperation {
 public:
  AllocationOperation(const Operation& operation, const InputTable& inputs)
      : CpuOperation(operation, inputs),
        allocation_(std::get<Allocation>(operation.parameters())),
        replay_(pattern_of(allocation_)),
        allocator_(make_allocator()),
        held_(replay_.run_watched(*allocator_)) {}

  std::string algorithm() const override {
    return allocation_.by == Allocator::malloc ? "malloc, free" : std::string(to_string(allocation_.by));
  }
  std::optional<HeldMemory> held_memory() const override { return held_; }
  void run(NativeQueue) override {
    replay_.run(*allocator_, [this](std::uintptr_t address, Bytes size) {
      if (allocation_.touch) std::memset(pointer_of(address), 1, static_cast<std::size_t>(size.value()));
    });
  }

 private:
  std::unique_ptr<MemoryAllocator> make_allocator() {
    switch (allocation_.by) {
      case Allocator::malloc: return std::make_unique<SystemMemory>();
      case Allocator::cache:
        return std::make_unique<CachingAllocator>(CachingAllocator::Growth::segments,
                                                  std::make_unique<SystemSegments>(),
                                                  std::make_unique<SystemSegments>());
      case Allocator::preallocated: {
        PlacedBlocks blocks = place_blocks(replay_.pattern());
        placed_ = AlignedMemory(blocks.size);
        return std::make_unique<Preallocated>(reinterpret_cast<std::uintptr_t>(placed_.data()),
                                              std::move(blocks));
      }
      case Allocator::pool:
      case Allocator::pool_kept:
      case Allocator::expandable: break;
    }
    throw std::logic_error("require_means let an allocator through that the CPU has not");
  }

  Allocation allocation_;
  PatternReplay replay_;
  AlignedMemory placed_;
  std::unique_ptr<MemoryAllocator> allocator_;
  HeldMemory held_;
};

}  // namespace

std::vector<Allocator> allocators() { return {Allocator::malloc, Allocator::cache, Allocator::preallocated}; }

std::unique_ptr<PreparedOperation> prepare_allocation(const Operation& operation, const InputTable& inputs) {
  const auto& allocation = std::get<Allocation>(operation.parameters());
  require_means(operation, "cpu", {.host_memories = {}, .allocators = allocators()});
  require_memory(most_at_once(pattern_of(allocation)), operation.text());
  return std::make_unique<AllocationOperation>(operation, inputs);
}

}  // namespace jitterscope::cpu
