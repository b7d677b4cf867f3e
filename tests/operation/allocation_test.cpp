// Allocations as text.
#include <gmock/gmock.h>

#include "jitterscope/error.hpp"
#include "jitterscope/operation.hpp"

namespace jitterscope {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

void expect_refused(const std::string& text, const std::string& why) {
  EXPECT_THAT([&] { Operation::parse(text); }, ThrowsMessage<UsageError>(HasSubstr(why))) << text;
}

TEST(AllocationText, PrintsWhatIsNotTheDefault) {
  EXPECT_EQ(Operation::parse("allocation:bytes=1Mi,count=1").text(), "allocation:bytes=1048576,by=malloc");
  EXPECT_EQ(Operation::parse("allocation:by=pool_kept,touch=0,count=3,bytes=5").text(),
            "allocation:bytes=5,count=3,by=pool_kept,touch=0");
  const Operation pattern = Operation::parse("allocation:pattern=../a/b.txt,by=cache");
  EXPECT_EQ(std::get<Allocation>(pattern.parameters()).pattern, "../a/b.txt");
  EXPECT_EQ(Operation::parse(pattern.text()), pattern);
}

TEST(AllocationText, HasNoOperandsAndNoFlops) {
  const Operation allocation = Operation::parse("allocation:bytes=1Mi,count=8");
  EXPECT_TRUE(allocation.operands().empty());
  EXPECT_EQ(allocation.flops(), 0.0);
  EXPECT_EQ(allocation.bytes(), Bytes(0));
}

TEST(AllocationText, RefusesWhatIsImpossible) {
  expect_refused("allocation:count=3", "bytes (or pattern) is missing");
  expect_refused("allocation:bytes=0", "bytes must be from 1");
  expect_refused("allocation:bytes=4,count=0", "count must be from 1");
  expect_refused("allocation:bytes=1Ti,count=65", "more than 64 TiB");
  expect_refused("allocation:bytes=4,by=mallock", "did you mean 'malloc'");
  expect_refused("allocation:bytes=4,pattern=x", "give one or the other");
  expect_refused("allocation:pattern=", "pattern has no value");
  EXPECT_THROW(Operation(Allocation{.pattern = "a,b"}), UsageError);
  EXPECT_THROW(Operation(Allocation{.bytes = 4, .pattern = "a"}), UsageError);
}

}  // namespace
}  // namespace jitterscope
