// Memory for operands and buffers, asked for only where it is there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "jitterscope/device.hpp"
#include "jitterscope/units.hpp"

namespace jitterscope::cpu {

/// Aligned to a cache line, its size rounded up to whole lines, so that no two share one.
class AlignedMemory {
 public:
  AlignedMemory() = default;
  explicit AlignedMemory(Bytes size);
  /// Takes pages that the system mapped for this program: whole ones, which it unmaps.
  static AlignedMemory mapped(std::byte* data, Bytes size);

  std::byte* data() const { return data_.get(); }
  Bytes size() const { return size_; }

 private:
  struct Free {
    Bytes mapped;  ///< 0: from the allocator
    void operator()(std::byte* data) const;
  };
  std::unique_ptr<std::byte[], Free> data_;
  Bytes size_;
};

/// Throws UsageError with both numbers where less than `size` is available. Linux promises memory that
/// it does not have and kills the process later; so this is asked before.
void require_memory(Bytes size, std::string_view purpose);

// Memory as a fragmented heap gives it out: put together of pages from all over.

/// Pages of the usual size, 4 KiB: no huge ones, of which a fragmented memory has none. Each piece of so many
/// pages is elsewhere in the machine's memory than the one before it, and what lies between was in use
/// meanwhile. As where memory is filled by all threads, each is the first to touch its share, so that a
/// machine with several nodes has it on the same ones. For a moment it takes twice the size: throws
/// UsageError where less is available, FailedError where the system refuses it.
AlignedMemory memory_in_pieces(Bytes size, std::int64_t pages_per_piece, std::uint64_t seed);

// Puts the caches in a known state before a launch.

/// Removes each line of a region from every cache; returns once that is done.
void flush_lines(const MemoryRegion& region);

class CacheControl {
 public:
  explicit CacheControl(Bytes last_level_cache);

  void set(CacheState state, Workload& workload);

 private:
  void evict(Workload& workload);
  void dirty(Workload& workload);
  std::span<std::byte> buffer(Bytes size);

  Bytes last_level_cache_;
  AlignedMemory buffer_;
};

}  // namespace jitterscope::cpu
