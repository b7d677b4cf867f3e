// The NUMA nodes of this machine: where memory lies, as its processors see it.
#pragma once

#include <memory>
#include <optional>
#include <vector>

namespace jitterscope {

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

}  // namespace jitterscope
