// Puts the caches in a known state before a launch.
#pragma once

#include <cstddef>
#include <span>

#include "device/cpu/memory.hpp"
#include "jitterscope/device.hpp"

namespace jitterscope::cpu {

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
