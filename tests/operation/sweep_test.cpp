#include <gmock/gmock.h>

#include "jitterscope/operation.hpp"
#include "operation/usage_message.hpp"

namespace jitterscope {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::usage_message;

std::vector<std::string> texts(std::string_view sweep) {
  std::vector<std::string> result;
  for (const Operation& operation : parse_sweep(sweep)) result.push_back(operation.text());
  return result;
}
std::vector<std::int64_t> counts(const std::string& values) {
  std::vector<std::int64_t> result;
  for (const Operation& operation : parse_sweep("add:count=" + values)) {
    result.push_back(std::get<Elementwise>(operation.parameters()).count);
  }
  return result;
}
std::string problem_of_sweep(const std::string& text) {
  return usage_message([&] { parse_sweep(text); });
}

TEST(Sweep, WithoutListsItIsOneOperation) { EXPECT_THAT(texts("spin:ns=5"), ElementsAre("spin:ns=5")); }

TEST(Sweep, ProductInTheOrderWritten) {
  EXPECT_THAT(texts("matmul:dtype=f16,bf16,m=1,2,n=3,k=4"),
              ElementsAre("matmul:m=1,n=3,k=4,dtype=f16", "matmul:m=2,n=3,k=4,dtype=f16",
                          "matmul:m=1,n=3,k=4,dtype=bf16", "matmul:m=2,n=3,k=4,dtype=bf16"));
}

TEST(Sweep, RangesIncludeTheEndWhereItIsHit) {
  EXPECT_THAT(counts("1..64*2"), ElementsAre(1, 2, 4, 8, 16, 32, 64));
  EXPECT_THAT(counts("1..63*2"), ElementsAre(1, 2, 4, 8, 16, 32));
  EXPECT_THAT(counts("1..9+2"), ElementsAre(1, 3, 5, 7, 9));
  EXPECT_THAT(counts("1..8+2"), ElementsAre(1, 3, 5, 7));
  EXPECT_THAT(counts("5..5*2"), ElementsAre(5));
  EXPECT_THAT(counts("1Ki..1Mi*32"), ElementsAre(1024, 32768, 1048576));
  EXPECT_THAT(counts("1k,1..1e6*1k"), ElementsAre(1000, 1, 1000, 1000000));
  EXPECT_THAT(texts("copy:bytes=1KiB..1MiB*1Ki"),
              ElementsAre("copy:bytes=1024,kind=d2d", "copy:bytes=1048576,kind=d2d"));
  EXPECT_THAT(counts("7,1..4*2,9"), ElementsAre(7, 1, 2, 4, 9));
  EXPECT_THAT(texts("spin:ns=0..2+1"), ElementsAre("spin:ns=0", "spin:ns=1", "spin:ns=2"));
}

TEST(Sweep, PairsMayBeListed) {
  const auto operations = parse_sweep("conv2d:n=1,c=1,hw=9,k=1,rs=3,stride=1,2x1,pad=0..1+1");
  ASSERT_EQ(operations.size(), 4u);
  EXPECT_EQ(std::get<Conv2d>(operations[3].parameters()).stride_h, 2);
  EXPECT_EQ(std::get<Conv2d>(operations[3].parameters()).stride_w, 1);
  EXPECT_EQ(std::get<Conv2d>(operations[3].parameters()).pad_w, 1);
}

TEST(Sweep, BadRangesAreNamed) {
  EXPECT_THAT(problem_of_sweep("add:count=1..8"),
              AllOf(HasSubstr("count"), HasSubstr("'1..8'"), HasSubstr("FIRST..LAST+STEP")));
  EXPECT_THAT(problem_of_sweep("add:count=..8*2"), HasSubstr("FIRST..LAST*FACTOR"));
  EXPECT_THAT(problem_of_sweep("add:count=1..8*x"), HasSubstr("FIRST..LAST*FACTOR"));
  EXPECT_THAT(problem_of_sweep("add:count=8..1*2"), HasSubstr("ends before it begins"));
  for (const std::string endless : {"1..8*1", "1..8*0", "1..8+0", "0..8*2"}) {
    EXPECT_THAT(problem_of_sweep("add:count=" + endless), HasSubstr("never ends"));
  }
}

TEST(Sweep, EndsWithoutOverflow) {
  EXPECT_THAT(problem_of_sweep("add:count=9223372036854775806..9223372036854775807*2"),
              HasSubstr("is impossible"));
  EXPECT_THAT(problem_of_sweep("add:count=9223372036854775806..9223372036854775807+2"),
              HasSubstr("is impossible"));
  EXPECT_THAT(problem_of_sweep("add:count=1..9223372036854775807+9223372036854775807"), "");
}

TEST(Sweep, TenThousandOperationsAndNoMore) {
  EXPECT_EQ(parse_sweep("add:count=1..10000+1").size(), 10000u);
  EXPECT_THAT(problem_of_sweep("add:count=1..10001+1"), HasSubstr("more than 10000"));
  EXPECT_THAT(problem_of_sweep("add:count=1..1000000000000+1"), HasSubstr("more than 10000"));
  EXPECT_THAT(problem_of_sweep("matmul:m=1..9999+1,n=1..9999+1,k=1..9999+1,batch=1..9999+1,dtype=f16,f32"),
              HasSubstr("more than 10000"));
}

TEST(Sweep, SaysWhichOperationIsImpossible) {
  EXPECT_THAT(problem_of_sweep("conv2d:n=1,c=1,hw=7,5,3,k=1,rs=5"),
              AllOf(HasSubstr("padded 3x3"), HasSubstr("'conv2d:n=1,c=1,hw=3,k=1,rs=5' of the sweep")));
  EXPECT_THAT(problem_of_sweep("add:count=0"), ::testing::Not(HasSubstr("sweep")));
  EXPECT_THAT(problem_of_sweep("add:count=1,,2"), HasSubstr("leave the comma out"));
  EXPECT_THAT(problem_of_sweep("add:count=1,2,dtype=f32,count=3"), HasSubstr("count is given twice"));
}

}  // namespace
}  // namespace jitterscope
