// What a program asks an allocator for, and when: events in their order.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "jitterscope/operation.hpp"

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

}  // namespace jitterscope
