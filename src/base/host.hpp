// The host: its monotonic clock and its memory nodes.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "jitterscope/units.hpp"

namespace jitterscope {

/// Since some moment: only differences mean something.
Nanoseconds host_time_now();

/// Keeps this thread's core busy for so long: a sleep of some microseconds would last 60 or more, and leave a
/// slower core behind.
void stay_awake(Nanoseconds);

// The NUMA nodes of this machine: where memory lies, as its processors see it.

/// Those that have memory, in order: {0} where there is one, or where the system does not say.
std::vector<int> memory_nodes();

/// Of the page that a pointer points into; nothing on a machine with one node, or where the system does not
/// say.
std::optional<int> memory_node_of(void* pointer);

/// While it lives, what this thread allocates and touches first comes from one node; with none, from wherever
/// the system takes it.
class MemoryFromNode {
 public:
  /// Throws UsageError for a node without memory, and FailedError where the system lets no program choose.
  explicit MemoryFromNode(std::optional<int> node);
  ~MemoryFromNode();
  MemoryFromNode(const MemoryFromNode&) = delete;
  MemoryFromNode& operator=(const MemoryFromNode&) = delete;

 private:
  struct Policy;
  std::unique_ptr<Policy> before_;  ///< null where nothing was changed
};

// Numbers rounded up to whole steps.

/// The least multiple of `step` that is not below `value`; neither is negative, and `step` is not zero.
constexpr std::int64_t round_up(std::int64_t value, std::int64_t step) {
  return (value + step - 1) / step * step;
}

}  // namespace jitterscope
