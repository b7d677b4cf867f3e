#include "device/allocation/caching_allocator.hpp"

#include <algorithm>
#include <iterator>
#include <stdexcept>

#include "jitterscope/error.hpp"

namespace jitterscope {
namespace {

// PyTorch's kMinBlockSize, kSmallSize, kMinLargeAlloc and kRoundLarge.
constexpr std::int64_t kGrain = 512, kLargestSmall = 1 << 20, kOwnSegment = 10 << 20, kOwnGrain = 2 << 20;

std::int64_t rounded(std::int64_t size, std::int64_t step) { return (size + step - 1) / step * step; }

}  // namespace

CachingAllocator::CachingAllocator(Growth growth, std::unique_ptr<SegmentSource> small,
                                   std::unique_ptr<SegmentSource> large)
    : growth_(growth), pools_{Pool{std::move(small)}, Pool{std::move(large)}} {}

CachingAllocator::~CachingAllocator() { give_back_free_segments(); }

bool CachingAllocator::splits(const Pool& pool, std::int64_t rest) const {
  if (is_small(pool) || growth_ == Growth::range) return rest >= kGrain;
  return rest > kLargestSmall;
}

std::int64_t CachingAllocator::segment_size(const Pool& pool, std::int64_t size) const {
  const std::int64_t usual = is_small(pool) ? kSmallSegment.value() : kLargeSegment.value();
  if (growth_ == Growth::range) return rounded(size, usual);
  return is_small(pool) || size < kOwnSegment ? usual : rounded(size, kOwnGrain);
}

CachingAllocator::Blocks::iterator CachingAllocator::grow(Pool& pool, std::int64_t size) {
  std::int64_t missing = size;
  if (growth_ == Growth::range && !pool.blocks.empty()) {
    const Block& last = std::prev(pool.blocks.end())->second;
    if (last.is_free) missing -= last.size;
  }
  const std::int64_t taken = segment_size(pool, missing);
  std::uintptr_t address = 0;
  try {
    address = pool.source->take(Bytes(taken));
  } catch (const FailedError&) {
    if (growth_ == Growth::range) throw;
    give_back_free_segments();
    address = pool.source->take(Bytes(taken));
  }
  held_ += taken;
  const bool continues = growth_ == Growth::range && !pool.blocks.empty();
  const std::uintptr_t segment = continues ? pool.blocks.begin()->second.segment : address;
  return make_free(pool, pool.blocks.emplace(address, Block{taken, segment, false}).first);
}

std::uintptr_t CachingAllocator::take(Pool& pool, std::int64_t size) {
  const auto found = pool.free.lower_bound({size, 0});
  const auto block = found != pool.free.end() ? pool.blocks.find(found->second) : grow(pool, size);
  pool.free.erase({block->second.size, block->first});
  block->second.is_free = false;
  const std::int64_t rest = block->second.size - size;
  if (splits(pool, rest)) {
    const std::uintptr_t address = block->first + static_cast<std::uintptr_t>(size);
    pool.blocks.emplace(address, Block{rest, block->second.segment, true});
    pool.free.emplace(rest, address);
    block->second.size = size;
  }
  return block->first;
}

std::uintptr_t CachingAllocator::allocate(Bytes size) {
  const std::int64_t whole = rounded(size.value(), kGrain);
  return take(whole <= kLargestSmall ? pools_[0] : pools_[1], whole);
}

void CachingAllocator::release(std::uintptr_t address) {
  for (Pool& pool : pools_) {
    const auto block = pool.blocks.find(address);
    if (block == pool.blocks.end()) continue;
    make_free(pool, block);
    return;
  }
  throw std::logic_error("a block is freed that was not allocated");
}

CachingAllocator::Blocks::iterator CachingAllocator::make_free(Pool& pool, Blocks::iterator block) {
  const auto joins = [](const Blocks::value_type& left, const Blocks::value_type& right) {
    return left.second.segment == right.second.segment &&
           left.first + static_cast<std::uintptr_t>(left.second.size) == right.first;
  };
  if (const auto next = std::next(block);
      next != pool.blocks.end() && next->second.is_free && joins(*block, *next)) {
    pool.free.erase({next->second.size, next->first});
    block->second.size += next->second.size;
    pool.blocks.erase(next);
  }
  if (block != pool.blocks.begin()) {
    const auto previous = std::prev(block);
    if (previous->second.is_free && joins(*previous, *block)) {
      pool.free.erase({previous->second.size, previous->first});
      previous->second.size += block->second.size;
      pool.blocks.erase(block);
      block = previous;
    }
  }
  block->second.is_free = true;
  pool.free.emplace(block->second.size, block->first);
  return block;
}

// A segment whose first block is free and whose next one is another segment's is free as a whole: neighbours
// that are free are one block.
void CachingAllocator::give_back_free_segments() {
  for (Pool& pool : pools_) {
    for (auto block = pool.blocks.begin(); block != pool.blocks.end();) {
      const auto next = std::next(block);
      const bool is_first = block->first == block->second.segment;
      const bool is_last = next == pool.blocks.end() || next->second.segment != block->second.segment;
      if (block->second.is_free && is_first && is_last) {
        pool.source->give_back(block->first, Bytes(block->second.size));
        held_ -= block->second.size;
        pool.free.erase({block->second.size, block->first});
        pool.blocks.erase(block);
      }
      block = next;
    }
  }
}

std::optional<Bytes> CachingAllocator::largest_free() const {
  std::int64_t largest = 0;
  for (const Pool& pool : pools_) {
    if (!pool.free.empty()) largest = std::max(largest, pool.free.rbegin()->first);
  }
  return Bytes(largest);
}

}  // namespace jitterscope
