// Memory that an operation needs only while it runs.
#pragma once

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "device/cuda/placed_memory.hpp"

namespace jitterscope::cuda {

class Context;

/// Hands the same memory to one operation after the other, as PyTorch's caching allocator does: there a
/// workspace is free again as soon as its call is enqueued, and the next call gets the smallest free block
/// that is large enough (c10/cuda/CUDACachingAllocator.cpp). Where a network's calls run in sequence, what
/// the L2 holds depends on it. Right only for work on one stream, such as Context::stream().
template <class Memory>
class WorkspacePool {
 public:
  /// Shared with whoever else took it and holds it still; freed when nobody does.
  /// A new block is made of `how` and the size.
  template <class... How>
  std::shared_ptr<const Memory> take(Bytes size, How&&... how) {
    std::erase_if(blocks_, [](const auto& block) { return block.expired(); });
    std::shared_ptr<Memory> smallest;
    for (const std::weak_ptr<Memory>& known : blocks_) {
      const std::shared_ptr<Memory> block = known.lock();
      if (block->size() < size || (smallest && smallest->size() <= block->size())) continue;
      smallest = block;
    }
    if (!smallest) {
      smallest = std::make_shared<Memory>(std::forward<How>(how)..., size);
      blocks_.push_back(smallest);
    }
    return smallest;
  }
  /// Calls `visit` with each block that somebody holds.
  template <class Visitor>
  void visit(const Visitor& visit) const {
    for (const std::weak_ptr<Memory>& known : blocks_) {
      if (const std::shared_ptr<Memory> block = known.lock()) visit(*block);
    }
  }

 private:
  std::vector<std::weak_ptr<Memory>> blocks_;
};

/// A workspace that was asked for; the block that it lies in may be larger.
class Workspace {
 public:
  Workspace() = default;
  Workspace(const Context& context, Bytes size);
  void* pointer() const { return block_ ? block_->pointer() : nullptr; }
  Bytes size() const { return size_; }

 private:
  std::shared_ptr<const PlacedMemory> block_;
  Bytes size_{0};
};

}  // namespace jitterscope::cuda
