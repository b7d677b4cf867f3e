#include "physics/kernel_time.hpp"

#include <gtest/gtest.h>

#include "physics_support.hpp"

namespace jitterscope::physics {
namespace {

class CacheTest : public testing::Test {
 protected:
  Traffic read(Buffer buffer, std::int64_t bytes) { return cache.access({{buffer, Bytes(bytes), false}}); }
  Traffic write(Buffer buffer, std::int64_t bytes) { return cache.access({{buffer, Bytes(bytes), true}}); }
  Buffer buffer(std::int64_t bytes) { return cache.allocate(Bytes(bytes)); }

  Cache cache{bare()};  // 100 MB
};

TEST_F(CacheTest, TheSecondReadHits) {
  const Buffer a = buffer(1000);
  EXPECT_EQ(read(a, 1000).read_misses, Bytes(1000));
  EXPECT_EQ(read(a, 1000).read_misses, Bytes(0));
}

TEST_F(CacheTest, AnotherBufferPushesOutTheLeastRecentlyUsed) {
  const Buffer a = buffer(60'000'000), b = buffer(30'000'000), c = buffer(40'000'000);
  read(a, 60'000'000);
  read(b, 30'000'000);
  read(c, 40'000'000);  // 30 MB of a have to go
  EXPECT_EQ(cache.resident(a), Bytes(30'000'000));
  EXPECT_EQ(read(b, 30'000'000).read_misses, Bytes(0));
  EXPECT_EQ(read(c, 40'000'000).read_misses, Bytes(0));
}

TEST_F(CacheTest, ASweepOfMoreThanTheCapacityNeverHits) {
  const Buffer a = buffer(101'000'000);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(read(a, 101'000'000).read_misses, Bytes(101'000'000));
  EXPECT_EQ(cache.resident(a), Bytes(100'000'000));
}

TEST_F(CacheTest, ACycleOfBuffersLargerThanTheCapacityNeverHits) {
  const Buffer a = buffer(40'000'000), b = buffer(40'000'000), c = buffer(40'000'000);
  for (int i = 0; i < 3; ++i) {
    for (const Buffer x : {a, b, c}) EXPECT_EQ(read(x, 40'000'000).read_misses, Bytes(40'000'000));
  }
}

TEST_F(CacheTest, TheEndOfAnEvictedBufferStillHitsWhenOlderOnesMakeRoom) {
  const Buffer a = buffer(50'000'000), b = buffer(40'000'000), c = buffer(30'000'000);
  read(a, 50'000'000);
  read(b, 40'000'000);
  read(c, 30'000'000);  // 20 MB of a go
  read(b, 40'000'000);  // a, then c are the oldest
  EXPECT_EQ(read(c, 30'000'000).read_misses, Bytes(0));
  EXPECT_EQ(read(a, 50'000'000).read_misses, Bytes(50'000'000));  // nothing is older than what is left of a
  EXPECT_EQ(cache.resident(b), Bytes(20'000'000));
  const Buffer d = buffer(10'000'000);
  read(d, 10'000'000);
  read(c, 30'000'000);
  EXPECT_EQ(cache.resident(b), Bytes(10'000'000));
  read(a, 50'000'000);
  read(d, 10'000'000);
  EXPECT_EQ(read(b, 40'000'000).read_misses, Bytes(40'000'000));
}

TEST_F(CacheTest, OnlyModifiedLinesAreWrittenBack) {
  const Buffer written = buffer(30'000'000), other = buffer(100'000'000);
  const Traffic first = write(written, 30'000'000);
  EXPECT_EQ(first.read_misses, Bytes(0));  // whole lines: nothing to fetch
  EXPECT_EQ(first.write_backs, Bytes(0));
  EXPECT_EQ(cache.modified(written), Bytes(30'000'000));
  EXPECT_EQ(read(other, 100'000'000).write_backs, Bytes(30'000'000));
  EXPECT_EQ(cache.resident(written), Bytes(0));
}

TEST_F(CacheTest, AWrittenSweepOfMoreThanFitsWritesAllOfItBack) {
  const Buffer a = buffer(250'000'000);
  EXPECT_EQ(write(a, 250'000'000).write_backs, Bytes(150'000'000));  // the rest stays, for now
  EXPECT_EQ(write(a, 250'000'000).write_backs, Bytes(250'000'000));
}

TEST_F(CacheTest, FillingWithModifiedLinesCostsTheNextKernelTheirWriteBack) {
  const Buffer a = buffer(8'000'000);
  read(a, 8'000'000);
  cache.fill(false);
  Traffic traffic = read(a, 8'000'000);
  EXPECT_EQ(traffic.read_misses, Bytes(8'000'000));
  EXPECT_EQ(traffic.write_backs, Bytes(0));
  cache.fill(true);
  traffic = read(a, 8'000'000);
  EXPECT_EQ(traffic.read_misses, Bytes(8'000'000));
  EXPECT_EQ(traffic.write_backs, Bytes(8'000'000));
}

TEST_F(CacheTest, AReleasedBufferLeavesItsRoom) {
  const Buffer a = buffer(60'000'000), b = buffer(60'000'000);
  read(a, 60'000'000);
  cache.release(a);
  read(b, 60'000'000);
  const Buffer c = buffer(40'000'000);
  EXPECT_EQ(c, a);  // the number is used again, its lines are not
  EXPECT_EQ(cache.resident(c), Bytes(0));
  read(c, 40'000'000);
  EXPECT_EQ(cache.resident(b), Bytes(60'000'000));
}

TEST_F(CacheTest, ReadingTwiceInOneKernelMissesOnce) {
  const Buffer a = buffer(1000);
  const Traffic traffic = read(a, 3000);
  EXPECT_EQ(traffic.accessed, Bytes(3000));
  EXPECT_EQ(traffic.read_misses, Bytes(1000));
}

TEST(Cache, SwitchedOffHitsAlways) {
  Cache cache(bare().without(Mechanism::cache));
  const Buffer a = cache.allocate(Bytes(1000));
  EXPECT_EQ(cache.access({{a, Bytes(1000), false}}).read_misses, Bytes(0));
}

TEST(Cache, WithoutModifiedLinesALaunchWritesBackItsOwnAlone) {
  Cache cache(bare().without(Mechanism::dirty_lines));
  const Buffer a = cache.allocate(Bytes(1000)), b = cache.allocate(Bytes(150'000'000));
  cache.fill(true);
  Traffic traffic = cache.access({{a, Bytes(1000), false}});
  EXPECT_EQ(traffic.read_misses, Bytes(1000));
  EXPECT_EQ(traffic.write_backs, Bytes(0));
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(cache.access({{b, Bytes(150'000'000), true}}).write_backs, Bytes(50'000'000))
        << "what is left in the cache at a launch's end costs the next one nothing";
  }
}

}  // namespace
}  // namespace jitterscope::physics
