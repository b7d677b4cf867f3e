// Keeps what it got from the device, in lists by size, splits blocks and joins neighbours again: the rules of
// PyTorch 2's CUDA allocator (c10/cuda/CUDACachingAllocator.cpp) for one stream.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "device/allocation/memory_allocator.hpp"

namespace jitterscope {

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

}  // namespace jitterscope
