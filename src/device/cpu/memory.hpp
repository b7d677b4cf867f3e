// Memory for operands and buffers, and the caches' state before a launch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "jitterscope/device.hpp"
#include "jitterscope/units.hpp"

namespace jitterscope::cpu {

/// Memory in whole cache lines, aligned to them, so that no two blocks share a line.
class AlignedMemory {
 public:
  AlignedMemory() = default;
  explicit AlignedMemory(Bytes size);
  /// Takes over whole pages that the system mapped for this program, and unmaps them.
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

/// Throws UsageError, with both numbers, if less than `size` is available. Linux promises memory that it does
/// not have and kills the process later, so this is checked before allocating.
void require_memory(Bytes size, std::string_view purpose);

/// Returns memory as a fragmented heap gives it out: usual pages of 4 KiB, no huge ones. Each piece of so
/// many pages lies elsewhere in the machine's memory than the one before it; the pages between are in use
/// meanwhile. Each thread is the first to touch its share, so that a machine with several NUMA nodes places
/// it as if all threads filled it. Takes twice the size for a moment: throws UsageError if less is available,
/// FailedError if the system refuses it.
AlignedMemory memory_in_pieces(Bytes size, std::int64_t pages_per_piece, std::uint64_t seed);

/// Removes each line of a region from every cache, and returns once that is done.
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
