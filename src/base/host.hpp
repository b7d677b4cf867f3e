// The host: its name, its monotonic clock, its cores and its memory nodes.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "jitterscope/units.hpp"

namespace jitterscope {

std::string host_name();

/// Time since an unspecified moment: only differences have a meaning.
Nanoseconds host_time_now();

/// Keeps this thread's core busy for this long. A sleep of some microseconds would last 60 or more, and leave
/// the core slower.
void stay_awake(Nanoseconds);

/// Returns the cores that this thread may run on, in order; empty if the system does not say, as with more
/// than 1024.
std::vector<int> allowed_cores();

/// Returns the NUMA nodes that have memory, in order; {0} if there is one, or if the system does not say.
std::vector<int> memory_nodes();

/// Returns the node of the page that a pointer points into; nullopt on a machine with one node, or if the
/// system does not say.
std::optional<int> memory_node_of(void* pointer);

/// While it exists, memory that this thread allocates and touches first comes from this node; without a node,
/// the system chooses.
class MemoryFromNode {
 public:
  /// Throws UsageError for a node without memory, and FailedError if the system lets no program choose.
  explicit MemoryFromNode(std::optional<int> node);
  ~MemoryFromNode();
  MemoryFromNode(const MemoryFromNode&) = delete;
  MemoryFromNode& operator=(const MemoryFromNode&) = delete;

 private:
  struct Policy;
  std::unique_ptr<Policy> before_;  ///< null if nothing was changed
};

/// Returns the least multiple of `step` that is not below `value` (not negative); `step` is positive.
constexpr std::int64_t round_up(std::int64_t value, std::int64_t step) {
  return (value + step - 1) / step * step;
}

}  // namespace jitterscope
