// The rules of PyTorch's allocator, over a source of addresses that are never touched.
#include "device/allocation/allocators.hpp"

#include <gmock/gmock.h>

#include <map>

#include "base/random.hpp"
#include "jitterscope/error.hpp"

namespace jitterscope {
namespace {

constexpr std::int64_t kMi = 1 << 20;

struct Given {
  std::int64_t limit = std::int64_t{1} << 40, in_use = 0;
  int takes = 0;
};

class CountedSource : public SegmentSource {
 public:
  CountedSource(Given& given, std::uintptr_t begin, std::uintptr_t gap)
      : given_(given), next_(begin), gap_(gap) {}
  std::uintptr_t take(Bytes size) override {
    if (given_.in_use + size.value() > given_.limit) throw FailedError("full");
    given_.in_use += size.value();
    ++given_.takes;
    const std::uintptr_t address = next_;
    next_ += static_cast<std::uintptr_t>(size.value()) + gap_;
    return address;
  }
  void give_back(std::uintptr_t, Bytes size) override { given_.in_use -= size.value(); }

 private:
  Given& given_;
  std::uintptr_t next_, gap_;
};

class Caching : public testing::Test {
 protected:
  CachingAllocator make(CachingAllocator::Growth growth) {
    return {growth, std::make_unique<CountedSource>(given_, 1 << 20, 0),
            std::make_unique<CountedSource>(given_, std::uintptr_t{1} << 40, 0)};
  }
  Given given_;
};

TEST_F(Caching, TakesSegmentsAsPyTorchDoes) {
  CachingAllocator cache = make(CachingAllocator::Growth::segments);
  cache.allocate(Bytes(1));
  EXPECT_EQ(cache.held(), Bytes(2 * kMi));
  cache.allocate(Bytes(kMi + 1));
  EXPECT_EQ(cache.held(), Bytes(22 * kMi));
  cache.allocate(Bytes(10 * kMi));  // fits into what is left of the 20 MiB
  EXPECT_EQ(cache.held(), Bytes(22 * kMi));
  cache.allocate(Bytes(31 * kMi));  // from 10 MiB on a segment of its own, a multiple of 2 MiB
  EXPECT_EQ(cache.held(), Bytes(54 * kMi));
}

TEST_F(Caching, GivesABlockOfTheSameSizeAgainWithoutAsking) {
  CachingAllocator cache = make(CachingAllocator::Growth::segments);
  const std::uintptr_t first = cache.allocate(Bytes(50 * kMi));
  cache.release(first);
  EXPECT_EQ(cache.largest_free(), Bytes(50 * kMi));
  EXPECT_EQ(cache.allocate(Bytes(50 * kMi)), first);
  EXPECT_EQ(given_.takes, 1);
}

TEST_F(Caching, ASmallerRequestSplitsABlockAndNeighboursAreJoined) {
  CachingAllocator cache = make(CachingAllocator::Growth::segments);
  const std::uintptr_t whole = cache.allocate(Bytes(40 * kMi));
  cache.release(whole);
  const std::uintptr_t left = cache.allocate(Bytes(12 * kMi)), right = cache.allocate(Bytes(28 * kMi));
  EXPECT_EQ(left, whole);
  EXPECT_EQ(right, whole + 12 * kMi);
  cache.release(left);
  EXPECT_EQ(cache.largest_free(), Bytes(12 * kMi));
  cache.release(right);
  EXPECT_EQ(cache.largest_free(), Bytes(40 * kMi));
  EXPECT_EQ(given_.takes, 1);
}

// Two segments may lie side by side; a block over both could not be given back.
TEST_F(Caching, SegmentsAreNotJoined) {
  CachingAllocator cache = make(CachingAllocator::Growth::segments);
  const std::uintptr_t first = cache.allocate(Bytes(20 * kMi)), second = cache.allocate(Bytes(20 * kMi));
  ASSERT_EQ(first + 20 * kMi, second);
  cache.release(first);
  cache.release(second);
  EXPECT_EQ(cache.largest_free(), Bytes(20 * kMi));
  cache.allocate(Bytes(40 * kMi));
  EXPECT_EQ(given_.takes, 3);
}

TEST_F(Caching, ARangeGrowsByWhatItsFreeEndLacks) {
  CachingAllocator range = make(CachingAllocator::Growth::range);
  const std::uintptr_t first = range.allocate(Bytes(20 * kMi)), second = range.allocate(Bytes(20 * kMi));
  range.release(second);
  const std::uintptr_t larger = range.allocate(Bytes(50 * kMi));
  EXPECT_EQ(larger, second);
  EXPECT_EQ(range.held(), Bytes(80 * kMi));  // 20 in use, 20 free, and two pages of 20 for the 30 that lack
  range.release(first);
  range.release(larger);
  EXPECT_EQ(range.largest_free(), Bytes(80 * kMi));
}

TEST_F(Caching, GivesBackWhatIsFreeWhereMemoryIsFull) {
  given_.limit = 100 * kMi;
  CachingAllocator cache = make(CachingAllocator::Growth::segments);
  cache.release(cache.allocate(Bytes(60 * kMi)));
  cache.allocate(Bytes(80 * kMi));
  EXPECT_EQ(cache.held(), Bytes(80 * kMi));
  EXPECT_THROW(cache.allocate(Bytes(90 * kMi)), FailedError);
}

TEST_F(Caching, GivesAllBackAtItsEnd) {
  for (const auto growth : {CachingAllocator::Growth::segments, CachingAllocator::Growth::range}) {
    {
      CachingAllocator cache = make(growth);
      const std::uintptr_t small = cache.allocate(Bytes(100)), large = cache.allocate(Bytes(70 * kMi));
      cache.release(small);
      cache.release(large);
      EXPECT_GT(given_.in_use, 0);
    }
    EXPECT_EQ(given_.in_use, 0);
  }
}

TEST_F(Caching, BlocksInUseNeverOverlap) {
  for (const auto growth : {CachingAllocator::Growth::segments, CachingAllocator::Growth::range}) {
    CachingAllocator cache = make(growth);
    Random random(3);
    std::map<std::uintptr_t, std::uintptr_t> in_use;  // begin to end
    for (int i = 0; i < 5000; ++i) {
      if (!in_use.empty() && random.below(5) < 2) {
        const auto any = std::next(in_use.begin(), static_cast<std::ptrdiff_t>(random.below(in_use.size())));
        cache.release(any->first);
        in_use.erase(any);
        continue;
      }
      const auto size =
          static_cast<std::int64_t>(1 + random.below(std::uint64_t{1} << (1 + random.below(26))));
      const std::uintptr_t begin = cache.allocate(Bytes(size));
      const std::uintptr_t end = begin + static_cast<std::uintptr_t>(size);
      const auto next = in_use.lower_bound(begin);
      ASSERT_TRUE(next == in_use.end() || end <= next->first);
      ASSERT_TRUE(next == in_use.begin() || std::prev(next)->second <= begin);
      in_use.emplace(begin, end);
    }
    for (const auto& [begin, end] : in_use) cache.release(begin);
    EXPECT_EQ(cache.held(), Bytes(given_.in_use));
  }
}

}  // namespace
}  // namespace jitterscope
