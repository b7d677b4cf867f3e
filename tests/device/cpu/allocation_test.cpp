// Allocations on the CPU: each launch takes memory and leaves nothing behind.
#include <gtest/gtest.h>
#include <malloc.h>

#include "jitterscope/device.hpp"

namespace jitterscope {
namespace {

std::unique_ptr<PreparedOperation> prepared(Device& device, const std::string& text) {
  return device.prepare(Operation::parse(text), {});
}

std::size_t in_use() { return mallinfo2().uordblks + mallinfo2().hblkhd; }

TEST(CpuAllocations, LeaveNothingBehind) {
  const auto device = open_device("cpu");
  for (const char* by : {"malloc", "cache", "preallocated"}) {
    const auto operation = prepared(*device, std::string("allocation:bytes=3Mi,count=4,by=") + by);
    operation->run(nullptr);
    const std::size_t before = in_use();
    for (int launch = 0; launch < 20; ++launch) operation->run(nullptr);
    EXPECT_EQ(in_use(), before) << by;
  }
}

TEST(CpuAllocations, SayWhatTheyTook) {
  const auto device = open_device("cpu");
  const auto held = [&](const char* by) {
    return *prepared(*device, std::string("allocation:bytes=3Mi,count=4,by=") + by)->held_memory();
  };
  constexpr Bytes kAsked(12 << 20);
  EXPECT_EQ(held("malloc").asked, kAsked);
  EXPECT_GE(held("malloc").held, kAsked);
  EXPECT_EQ(held("preallocated").held, kAsked);
  EXPECT_EQ(held("cache").held, Bytes(20 << 20));
  EXPECT_EQ(held("cache").largest_free, Bytes(17 << 20));  // when the segment was new, with one block in it
  EXPECT_FALSE(held("malloc").largest_free.has_value());
  EXPECT_FALSE(prepared(*device, "add:count=8")->held_memory().has_value());
}

}  // namespace
}  // namespace jitterscope
