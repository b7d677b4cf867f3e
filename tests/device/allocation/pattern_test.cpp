// Patterns of allocations: read, replayed, placed.
#include "device/allocation/allocators.hpp"

#include <gmock/gmock.h>

#include "jitterscope/error.hpp"

namespace jitterscope {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

void expect_refused(std::string_view text, const std::string& why) {
  EXPECT_THAT([&] { read_pattern(text, "file.txt"); }, ThrowsMessage<UsageError>(HasSubstr(why))) << text;
}

TEST(AllocationPatterns, AreReadLineByLine) {
  const AllocationPattern pattern = read_pattern(
      "# begins\nalloc a 1Mi\n\n\talloc b 4096  # small\r\nfree a\nalloc a 8\nfree b\nfree a", "file.txt");
  ASSERT_EQ(pattern.events.size(), 6u);
  EXPECT_THAT(pattern.blocks, testing::ElementsAre(Bytes(1 << 20), Bytes(4096), Bytes(8)));
  EXPECT_TRUE(pattern.events[2].is_release);
  EXPECT_EQ(pattern.events[5].block, 2u);  // the name is that of another block by then
  EXPECT_EQ(most_at_once(pattern), Bytes((1 << 20) + 4096));
}

TEST(AllocationPatterns, ThatCannotBeReplayedAreRefusedWithTheLine) {
  expect_refused("alloc a 4\nfree b\n", "file.txt, line 2: 'b' is freed and was not allocated before");
  expect_refused("alloc a 4\nfree a\nfree a\n", "line 3");
  expect_refused("alloc a 4\nalloc a 4\n", "line 2: 'a' is allocated again and was not freed since line 1");
  expect_refused("alloc a 4\nalloc b 4\nfree b\n", "line 1: 'a' is never freed (1 of 2 blocks are not)");
  expect_refused("alloc a 4\nalloc b", "line 2: 'alloc b' is neither");
  expect_refused("alloc a many\n", "'many' is not a number of bytes");
  expect_refused("alloc a 0\n", "'0' is not a number of bytes");
  expect_refused("", "holds no events");
  EXPECT_THAT([] { pattern_of({.pattern = "/no/such/file"}); },
              ThrowsMessage<UsageError>(HasSubstr("/no/such/file cannot be read")));
  EXPECT_THAT([] { pattern_of({.pattern = "@sequence"}); },
              ThrowsMessage<UsageError>(HasSubstr("did you mean '@sequences'")));
}

TEST(AllocationPatterns, OfBlocksAreAllThereAtOnce) {
  const AllocationPattern pattern = pattern_of({.bytes = 100, .count = 7});
  EXPECT_EQ(pattern.events.size(), 14u);
  EXPECT_EQ(most_at_once(pattern), Bytes(700));
}

TEST(AllocationPatterns, OfSequencesIsTheSameEachTimeAndFreesAll) {
  const AllocationPattern pattern = pattern_of({.pattern = "@sequences"});
  std::int64_t in_use = 0;
  for (const AllocationEvent& event : pattern.events) {
    in_use += event.is_release ? -event.size.value() : event.size.value();
  }
  EXPECT_EQ(in_use, 0);
  EXPECT_EQ(pattern.blocks.size(), 168u);
  EXPECT_EQ(most_at_once(pattern), most_at_once(pattern_of({.pattern = "@sequences"})));
  EXPECT_LT(most_at_once(pattern), Bytes(std::int64_t{2} << 30));
}

TEST(PlacedBlocks, DoNotOverlapWhileBothAreInUse) {
  const AllocationPattern pattern = pattern_of({.pattern = "@sequences"});
  const PlacedBlocks placed = place_blocks(pattern);
  std::vector<std::size_t> in_use;
  for (const AllocationEvent& event : pattern.events) {
    if (event.is_release) {
      std::erase(in_use, event.block);
      continue;
    }
    const Bytes begin = placed.offsets[event.block], end = begin + event.size;
    EXPECT_LE(end, placed.size);
    for (const std::size_t other : in_use) {
      const Bytes other_begin = placed.offsets[other], other_end = other_begin + pattern.blocks[other];
      EXPECT_TRUE(end <= other_begin || other_end <= begin);
    }
    in_use.push_back(event.block);
  }
  EXPECT_GE(placed.size, most_at_once(pattern));
  EXPECT_EQ(place_blocks(pattern_of({.bytes = 100, .count = 2})).size, Bytes(1024));
}

class RefusingAllocator : public MemoryAllocator {
 public:
  std::uintptr_t allocate(Bytes size) override {
    if (size > Bytes(10)) throw FailedError("full");
    ++in_use;
    return next_++;
  }
  void release(std::uintptr_t) override { --in_use; }
  Bytes held() const override { return Bytes(in_use * 16); }
  int in_use = 0;

 private:
  std::uintptr_t next_ = 1;
};

TEST(PatternReplays, FillEachBlockAndSayWhatWasHeld) {
  RefusingAllocator allocator;
  PatternReplay replay(read_pattern("alloc a 4\nalloc b 6\nfree a\nfree b\n", "file.txt"));
  std::int64_t filled = 0;
  replay.run(allocator, [&](std::uintptr_t, Bytes size) { filled += size.value(); });
  EXPECT_EQ(filled, 10);
  const HeldMemory held = replay.run_watched(allocator);
  EXPECT_EQ(held.asked, Bytes(10));
  EXPECT_EQ(held.held, Bytes(32));
  EXPECT_FALSE(held.largest_free.has_value());
}

TEST(PatternReplays, FreeWhatIsInUseWhereMemoryIsFull) {
  RefusingAllocator allocator;
  PatternReplay replay(read_pattern("alloc a 4\nalloc b 60\nfree a\nfree b\n", "file.txt"));
  EXPECT_THROW(replay.run(allocator, [](std::uintptr_t, Bytes) {}), FailedError);
  EXPECT_EQ(allocator.in_use, 0);
}

}  // namespace
}  // namespace jitterscope
