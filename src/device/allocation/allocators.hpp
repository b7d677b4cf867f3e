// Allocation patterns, and allocators that they are replayed with.
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
  Bytes size;
};

/// Every block is freed after its allocation, so that the pattern can be replayed.
struct AllocationPattern {
  std::vector<AllocationEvent> events;
  std::vector<Bytes> blocks;
};

/// Returns the pattern of bytes and count, of a file, or of one that the program carries. Throws UsageError
/// that names the line if it cannot be replayed.
AllocationPattern pattern_of(const Allocation& allocation);

/// Reads one event a line: `alloc NAME BYTES` or `free NAME`; # begins a comment. A name may be used again
/// once its block is freed. `file` is named in messages.
AllocationPattern read_pattern(std::string_view text, const std::string& file);

/// Most bytes in use at once.
Bytes most_at_once(const AllocationPattern& pattern);

class MemoryAllocator {
 public:
  virtual ~MemoryAllocator() = default;
  /// Throws FailedError if memory is full.
  virtual std::uintptr_t allocate(Bytes size) = 0;
  virtual void release(std::uintptr_t address) = 0;
  /// Bytes taken from the device now.
  virtual Bytes held() const = 0;
  /// The largest unused block of these; nullopt if unknown.
  virtual std::optional<Bytes> largest_free() const { return std::nullopt; }
};

/// Places for all blocks of a pattern in one stretch of memory, first fit: blocks that are in use together do
/// not overlap.
struct PlacedBlocks {
  std::vector<Bytes> offsets;  ///< for each block
  Bytes size;
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

// A caching allocator: keeps the device's memory in lists by size, splits blocks and joins neighbours again.
// The rules are those of PyTorch 2's CUDA allocator (c10/cuda/CUDACachingAllocator.cpp) for one stream.

/// Source of a caching allocator's memory, one segment at a time.
class SegmentSource {
 public:
  virtual ~SegmentSource() = default;
  /// Throws FailedError if memory is full.
  virtual std::uintptr_t take(Bytes size) = 0;
  virtual void give_back(std::uintptr_t address, Bytes size) = 0;
};

class CachingAllocator final : public MemoryAllocator {
 public:
  /// segments: each is apart from the others. range: each begins where the last one ended, and grows it.
  enum class Growth { segments, range };
  /// PyTorch's sizes, for requests of up to 1 MiB and for larger ones.
  static constexpr Bytes kSmallSegment = Bytes(2 << 20), kLargeSegment = Bytes(20 << 20);

  /// Small and large requests never share a segment.
  CachingAllocator(Growth growth, std::unique_ptr<SegmentSource> small, std::unique_ptr<SegmentSource> large);
  /// Gives all segments back; no block may be in use.
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
    std::uintptr_t segment = 0;  // begin of its segment; in a range, of the first one
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

class PatternReplay {
 public:
  explicit PatternReplay(AllocationPattern pattern)
      : pattern_(std::move(pattern)), addresses_(pattern_.blocks.size(), 0) {}

  const AllocationPattern& pattern() const { return pattern_; }

  /// Calls `fill` with address and size of each block as soon as it is there. If anything throws, blocks in
  /// use are freed.
  template <class Fill>
  void run(MemoryAllocator& allocator, const Fill& fill) {
    run(allocator, fill, [] {});
  }
  /// Replays once, asking the allocator after each event how much it holds.
  HeldMemory run_watched(MemoryAllocator& allocator);

 private:
  template <class Fill, class Watch>
  void run(MemoryAllocator& allocator, const Fill& fill, const Watch& watch);

  AllocationPattern pattern_;
  std::vector<std::uintptr_t> addresses_;  // 0 unless in use
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
