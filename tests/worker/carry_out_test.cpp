#include "worker/carry_out.hpp"

#include <gmock/gmock.h>

#include "jitterscope/error.hpp"
#include "worker/simulated_pair.hpp"

namespace jitterscope {
namespace {

using test::kNoListeners;
using test::pair_of;

TEST(CarryOut, GivesTheRecordOfItsPlan) {
  const RunRecord record = carry_out(pair_of("add:count=1Mi", "mul:count=1Mi", 3), kNoListeners);
  EXPECT_EQ(record.device.id, "virtual:h200");
  ASSERT_EQ(record.entries.size(), 2u);
  EXPECT_EQ(record.entries[1].result.subject, Subject(Operation::parse("mul:count=1Mi")));
  EXPECT_FALSE(record.interrupted);
  EXPECT_FALSE(record.ceilings.bytes_per_second.has_value());
  const auto& first = record.entries[0].result.measurements.at(0).rounds;
  const auto& second = record.entries[1].result.measurements.at(0).rounds;
  ASSERT_EQ(first.size(), second.size());
  for (std::size_t i = 0; i < first.size(); ++i) EXPECT_EQ(first[i].block, second[i].block);
}

TEST(CarryOut, FollowsFromItsSeeds) {
  const auto median = [](std::uint64_t seed) {
    return carry_out(pair_of("add:count=1Mi", "mul:count=1Mi", seed), kNoListeners)
        .entries.at(0)
        .result.measurements.at(0)
        .time.median.value();
  };
  EXPECT_EQ(median(3), median(3));
  EXPECT_NE(median(3), median(4));
}

TEST(CarryOut, ThrowsWhatOpeningThrows) {
  WorkerPlan plan = pair_of("add:count=1Mi", "mul:count=1Mi", 3);
  plan.device = "virtual:h2000";
  EXPECT_THROW(carry_out(plan, kNoListeners), UsageError);
}

TEST(CarryOut, AnInterruptionKeepsWhatThereIs) {
  const RunRecord record =
      carry_out(pair_of("add:count=1Mi", "mul:count=1Mi", 3), {kNoListeners.stage, [] { return true; }});
  EXPECT_TRUE(record.interrupted);
  EXPECT_THAT(record.entries, testing::IsEmpty());
}

}  // namespace
}  // namespace jitterscope
