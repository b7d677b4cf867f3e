#include "device/allocation/replay.hpp"

namespace jitterscope {

HeldMemory PatternReplay::run_watched(MemoryAllocator& allocator) {
  HeldMemory most{most_at_once(pattern_), Bytes(0), std::nullopt};
  const auto watch = [&] {
    const Bytes held = allocator.held();
    if (held <= most.held) return;
    most.held = held;
    most.largest_free = allocator.largest_free();
  };
  run(
      allocator, [](std::uintptr_t, Bytes) {}, watch);
  return most;
}

}  // namespace jitterscope
