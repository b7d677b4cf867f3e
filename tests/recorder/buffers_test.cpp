#include "recorder/buffers.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <set>
#include <thread>
#include <vector>

namespace jitterscope::recorder {
namespace {

class Buffers : public testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(pool_.begin(BufferPool::kLeast)); }

  std::uint8_t* take() {
    std::size_t size = 0;
    std::uint8_t* buffer = pool_.take(size);
    EXPECT_EQ(size, BufferPool::kSize);
    return buffer;
  }
  std::vector<std::uint8_t> drain() {
    std::vector<std::uint8_t> firsts;
    pool_.drain([&](const std::uint8_t* bytes, std::size_t size) {
      if (size > 0) firsts.push_back(*bytes);
    });
    return firsts;
  }

  BufferPool pool_;
};

TEST_F(Buffers, ComeBackOnceAndAreTakenAgain) {
  std::uint8_t* buffer = take();
  *buffer = 7;
  pool_.complete(buffer, 100);
  EXPECT_THAT(drain(), testing::ElementsAre(7));
  EXPECT_TRUE(drain().empty());
  std::set<std::uint8_t*> taken;
  for (std::size_t i = 0; i < BufferPool::kLeast; ++i) taken.insert(take());
  EXPECT_EQ(taken.size(), BufferPool::kLeast);
  EXPECT_TRUE(taken.contains(buffer));
}

TEST_F(Buffers, OfOthersArePassedOver) {
  std::uint8_t foreign = 0;
  pool_.complete(&foreign, 1);
  EXPECT_TRUE(drain().empty());
  EXPECT_EQ(pool_.take_lost_bytes(), 0u);
}

TEST_F(Buffers, AreNeverNoneAndWhatIsLostIsCounted) {
  std::set<std::uint8_t*> taken;
  std::size_t size = 0;
  for (std::size_t i = 0; i < BufferPool::kLeast; ++i) taken.insert(pool_.take(size));
  EXPECT_EQ(taken.size(), BufferPool::kLeast);  // no two are one
  std::vector<std::uint8_t*> sinks;
  for (int i = 0; i < 100; ++i) {
    std::uint8_t* sink = pool_.take(size);
    ASSERT_NE(sink, nullptr);
    EXPECT_FALSE(taken.contains(sink));
    std::memset(sink, 1, size);
    sinks.push_back(sink);
  }
  for (std::uint8_t* sink : sinks) pool_.complete(sink, 216);
  EXPECT_EQ(pool_.take_lost_bytes(), 100u * 216u);
  EXPECT_EQ(pool_.take_lost_bytes(), 0u);
  EXPECT_TRUE(drain().empty());
  for (std::uint8_t* buffer : taken) pool_.complete(buffer, 0);
  drain();
  EXPECT_TRUE(taken.contains(pool_.take(size)));
}

TEST_F(Buffers, BelongToOneThreadAtATime) {
  std::atomic<bool> stop{false};
  std::atomic<std::uint64_t> written{0}, lost{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 2'000; ++i) {
        std::size_t size = 0;
        std::uint8_t* buffer = pool_.take(size);
        if (size < BufferPool::kSize) {
          ++lost;
          pool_.complete(buffer, 1);
          continue;
        }
        *buffer = 1;  // that two have it, the thread sanitizer would see
        ++written;
        pool_.complete(buffer, 1);
      }
    });
  }
  std::uint64_t read = 0;
  std::thread writer([&] {
    while (!stop) {
      pool_.wait(1'000'000);
      read += drain().size();
      pool_.grow();
    }
    read += drain().size();
  });
  for (std::thread& thread : threads) thread.join();
  stop = true;
  pool_.wake();
  writer.join();
  EXPECT_EQ(read, written);
  EXPECT_EQ(written + lost, 8'000u);
  EXPECT_EQ(pool_.take_lost_bytes(), lost);
}

}  // namespace
}  // namespace jitterscope::recorder
