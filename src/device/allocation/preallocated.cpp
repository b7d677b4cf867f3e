#include "device/allocation/preallocated.hpp"

#include <algorithm>
#include <map>

namespace jitterscope {

PlacedBlocks place_blocks(const AllocationPattern& pattern) {
  constexpr std::int64_t kAlignment = 512;
  PlacedBlocks placed{std::vector<Bytes>(pattern.blocks.size()), Bytes(0)};
  std::map<std::int64_t, std::int64_t> in_use;  // begin to end
  for (const AllocationEvent& event : pattern.events) {
    if (event.is_release) {
      in_use.erase(placed.offsets[event.block].value());
      continue;
    }
    const std::int64_t size = (event.size.value() + kAlignment - 1) / kAlignment * kAlignment;
    std::int64_t begin = 0;
    for (const auto& [other, end] : in_use) {
      if (other - begin >= size) break;
      begin = end;
    }
    in_use[begin] = begin + size;
    placed.offsets[event.block] = Bytes(begin);
    placed.size = std::max(placed.size, Bytes(begin + size));
  }
  return placed;
}

}  // namespace jitterscope
