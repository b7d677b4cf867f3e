// What a program asks an allocator for, and when: events in their order.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "jitterscope/device.hpp"
#include "jitterscope/operation.hpp"
#include "jitterscope/units.hpp"

namespace jitterscope {

struct AllocationEvent {
  bool is_release = false;
  std::size_t block = 0;  ///< blocks are numbered in the order in which they are allocated
  Bytes size;             ///< of the block
};

/// Every block is freed behind its allocation, so that it can be replayed any number of times.
struct AllocationPattern {
  std::vector<AllocationEvent> events;
  std::vector<Bytes> blocks;  ///< their sizes
};

/// Of bytes and count, of a file, or of one that the program carries. Throws UsageError that names the line
/// where it cannot be replayed.
AllocationPattern pattern_of(const Allocation& allocation);

/// One event a line: `alloc NAME BYTES` or `free NAME`; what follows # is a comment. A name may be used again
/// once its block is freed. `file` is for messages.
AllocationPattern read_pattern(std::string_view text, const std::string& file);

/// Most bytes in use at once.
Bytes most_at_once(const AllocationPattern& pattern);

// What gives a pattern its memory.

class MemoryAllocator {
 public:
  virtual ~MemoryAllocator() = default;
  /// Throws FailedError where memory is full.
  virtual std::uintptr_t allocate(Bytes size) = 0;
  virtual void release(std::uintptr_t address) = 0;
  /// What it has of the device now.
  virtual Bytes held() const = 0;
  /// Of that, the largest block that is not in use; nothing where that is unknown.
  virtual std::optional<Bytes> largest_free() const { return std::nullopt; }
};

// A pattern whose blocks all have their place before it begins: what is left of it is no allocation at all.

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

// Keeps what it got from the device, in lists by size, splits blocks and joins neighbours again: the rules of
// PyTorch 2's CUDA allocator (c10/cuda/CUDACachingAllocator.cpp) for one stream.

/// Where a caching allocator gets memory: a segment at a time.
class SegmentSource {
 public:
  virtual ~SegmentSource() = default;
  /// Throws FailedError where memory is full.
  virtual std::uintptr_t take(Bytes size) = 0;
  virtual void give_back(std::uintptr_t address, Bytes size) = 0;
};

class CachingAllocator final : public MemoryAllocator {
 public:
  /// segments: each is apart from the others. range: each begins where the last one ended, and grows it.
  enum class Growth { segments, range };
  /// PyTorch's, for requests of up to 1 MiB and for larger ones.
  static constexpr Bytes kSmallSegment = Bytes(2 << 20), kLargeSegment = Bytes(20 << 20);

  /// Small and large requests never share a segment.
  CachingAllocator(Growth growth, std::unique_ptr<SegmentSource> small, std::unique_ptr<SegmentSource> large);
  /// Gives all segments back; nothing may be in use.
  ~CachingAllocator() override;
  CachingAllocator(const CachingAllocator&) = delete;
  CachingAllocator& operator=(const CachingAllocator&) = delete;

  std::uintptr_t allocate(Bytes size) override;
  void release(std::uintptr_t address) override;
  Bytes held() const override { return Bytes(held_); }
  std::optional<Bytes> largest_free() const override;

 private:
  struct Block {
    std::int64_t size = 0;
    std::uintptr_t segment = 0;  // where its segment begins; of a range, where the first one did
    bool is_free = false;
  };
  using Blocks = std::map<std::uintptr_t, Block>;
  struct Pool {
    std::unique_ptr<SegmentSource> source;
    Blocks blocks = {};                                           // by address
    std::set<std::pair<std::int64_t, std::uintptr_t>> free = {};  // by size, then address
  };

  bool splits(const Pool& pool, std::int64_t rest) const;
  bool is_small(const Pool& pool) const { return &pool == pools_.data(); }
  std::int64_t segment_size(const Pool& pool, std::int64_t size) const;
  Blocks::iterator grow(Pool& pool, std::int64_t size);
  std::uintptr_t take(Pool& pool, std::int64_t size);
  /// Joins it with free neighbours of its segment.
  Blocks::iterator make_free(Pool& pool, Blocks::iterator block);
  void give_back_free_segments();

  Growth growth_;
  std::array<Pool, 2> pools_;
  std::int64_t held_ = 0;
};

// A pattern carried out with an allocator.

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
