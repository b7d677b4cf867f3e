// Memory of a sequence's outputs, handed from one call to the next as PyTorch's caching allocator does.
#pragma once

#include <cstddef>
#include <map>
#include <utility>
#include <vector>

#include "jitterscope/device.hpp"
#include "operation/model.hpp"

namespace jitterscope {

/// What a call writes lies in the smallest free block that is large enough (of as large ones the first),
/// where there is one: in memory of an earlier call's whose last reader has run. What is left of the block
/// stays free where it is more than 1 MiB (c10/cuda/CUDACachingAllocator.cpp: best fit, split, merge).
/// Gradients of a training then follow each other through a few blocks, which the cache holds, and take no
/// memory of their own each.
///
/// Only outputs over 1 MiB: smaller ones have blocks apart in PyTorch, too, and mean little to a cache. What
/// nobody reads, as the gradient of a weight, stays to the end.
class OutputMemory {
 public:
  explicit OutputMemory(const Model& model);

  /// Adds where the call's outputs lie that `shared` does not place yet. To be called in the order of the
  /// model.
  void place(std::size_t call, const Operation& operation, std::vector<SharedOperand>& shared);
  /// After the call has been prepared with that; null where it could not be. What it was the last to use is
  /// free from now on.
  void finish(std::size_t call, const PreparedOperation* prepared);

 private:
  using Place = std::pair<std::size_t, std::size_t>;  // a call, its operand
  struct Block {
    const PreparedOperation* owner = nullptr;
    std::size_t operand = 0;  // of the owner
    std::size_t number =
        0;  // the owner's operand among those that had memory of their own: as addresses rise
    std::int64_t begin = 0, size = 0;
  };

  bool take(std::int64_t size, Block& taken);
  void release(const Place& place);

  std::vector<std::vector<Place>> last_used_;  // by each call
  std::map<Place, Block> used_;
  std::map<Place, std::int64_t> alone_;  // outputs of the call that is being prepared, and their size
  std::vector<Place> borrowed_;          // likewise, in blocks of others
  std::vector<Block> free_;
  std::size_t count_ = 0;
};

}  // namespace jitterscope
