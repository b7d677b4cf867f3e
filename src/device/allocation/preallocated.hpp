// A pattern whose blocks all have their place before it begins: what is left of it is no allocation at all.
#pragma once

#include <vector>

#include "device/allocation/memory_allocator.hpp"
#include "device/allocation/pattern.hpp"

namespace jitterscope {

/// Places in one stretch of memory for all blocks of a pattern, first fit, so that no two overlap while both
/// are in use.
struct PlacedBlocks {
  std::vector<Bytes> offsets;  ///< of each block
  Bytes size;                  ///< of the stretch
};
PlacedBlocks place_blocks(const AllocationPattern& pattern);

/// Hands out the places in the pattern's order, over and over.
class Preallocated final : public MemoryAllocator {
 public:
  Preallocated(std::uintptr_t begin, PlacedBlocks blocks) : begin_(begin), blocks_(std::move(blocks)) {}
  std::uintptr_t allocate(Bytes) override {
    const std::uintptr_t address = begin_ + static_cast<std::uintptr_t>(blocks_.offsets[next_].value());
    next_ = (next_ + 1) % blocks_.offsets.size();
    return address;
  }
  void release(std::uintptr_t) override {}
  Bytes held() const override { return blocks_.size; }

 private:
  std::uintptr_t begin_;
  PlacedBlocks blocks_;
  std::size_t next_ = 0;
};

}  // namespace jitterscope
