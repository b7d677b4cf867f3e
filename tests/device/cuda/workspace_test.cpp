#include "device/cuda/memory.hpp"

#include <gtest/gtest.h>

namespace jitterscope::cuda {
namespace {

int blocks_alive = 0;

class CountedMemory {
 public:
  explicit CountedMemory(Bytes size) : size_(size) { ++blocks_alive; }
  CountedMemory(const CountedMemory&) = delete;
  CountedMemory& operator=(const CountedMemory&) = delete;
  ~CountedMemory() { --blocks_alive; }
  Bytes size() const { return size_; }

 private:
  Bytes size_;
};

using Pool = WorkspacePool<CountedMemory>;

TEST(WorkspacePool, HandsOneBlockToAllWhomItIsLargeEnoughFor) {
  Pool pool;
  const auto first = pool.take(Bytes(100));
  EXPECT_EQ(pool.take(Bytes(100)), first);
  EXPECT_EQ(pool.take(Bytes(1)), first);
  const auto larger = pool.take(Bytes(101));
  EXPECT_NE(larger, first);
  EXPECT_EQ(larger->size(), Bytes(101));
  EXPECT_EQ(blocks_alive, 2);
}

TEST(WorkspacePool, TakesTheSmallestThatIsLargeEnough) {
  Pool pool;
  const auto small = pool.take(Bytes(10)), middle = pool.take(Bytes(100)), large = pool.take(Bytes(1000));
  EXPECT_EQ(pool.take(Bytes(5)), small);
  EXPECT_EQ(pool.take(Bytes(50)), middle);
  EXPECT_EQ(pool.take(Bytes(500)), large);
}

TEST(WorkspacePool, FreesWhatNobodyHolds) {
  Pool pool;
  auto held = pool.take(Bytes(100));
  const auto shared = pool.take(Bytes(80));
  held.reset();
  EXPECT_EQ(blocks_alive, 1);
  EXPECT_EQ(pool.take(Bytes(100)), shared);
}

TEST(WorkspacePool, MakesANewBlockWhereTheOldOneIsGone) {
  Pool pool;
  pool.take(Bytes(100));
  EXPECT_EQ(blocks_alive, 0);
  EXPECT_EQ(pool.take(Bytes(10))->size(), Bytes(10));
}

}  // namespace
}  // namespace jitterscope::cuda
