// A pattern carried out with an allocator.
#pragma once

#include <vector>

#include "device/allocation/memory_allocator.hpp"
#include "device/allocation/pattern.hpp"
#include "jitterscope/device.hpp"

namespace jitterscope {

class PatternReplay {
 public:
  explicit PatternReplay(AllocationPattern pattern)
      : pattern_(std::move(pattern)), addresses_(pattern_.blocks.size(), 0) {}

  const AllocationPattern& pattern() const { return pattern_; }

  /// `fill` is called with each block, address and size, as soon as it is there. What is in use when
  /// something is thrown is freed.
  template <class Fill>
  void run(MemoryAllocator& allocator, const Fill& fill) {
    run(allocator, fill, [] {});
  }
  /// Once, behind each event asking what the allocator holds.
  HeldMemory run_watched(MemoryAllocator& allocator);

 private:
  template <class Fill, class Watch>
  void run(MemoryAllocator& allocator, const Fill& fill, const Watch& watch);

  AllocationPattern pattern_;
  std::vector<std::uintptr_t> addresses_;  // of blocks in use, else 0
};

template <class Fill, class Watch>
void PatternReplay::run(MemoryAllocator& allocator, const Fill& fill, const Watch& watch) {
  try {
    for (const AllocationEvent& event : pattern_.events) {
      std::uintptr_t& address = addresses_[event.block];
      if (event.is_release) {
        allocator.release(address);
        address = 0;
      } else {
        address = allocator.allocate(event.size);
        fill(address, event.size);
      }
      watch();
    }
  } catch (...) {
    for (std::uintptr_t& address : addresses_) {
      if (address != 0) allocator.release(address);
      address = 0;
    }
    throw;
  }
}

}  // namespace jitterscope
