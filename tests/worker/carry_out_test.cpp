#include "worker/fresh_processes.hpp"

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

TEST(CarryOut, TracesKernelsBehindAllTimes) {
  WorkerPlan plan = pair_of("add:count=1Mi", "mul:count=1Mi", 3);
  const auto times = [](const RunRecord& record) {
    std::vector<double> medians;
    for (const RunEntry& entry : record.entries)
      medians.push_back(entry.result.measurements.at(0).time.median.value());
    return medians;
  };
  const RunRecord without = carry_out(plan, kNoListeners);
  EXPECT_TRUE(without.entries.at(0).result.kernels.empty());
  plan.plan.trace_kernels = true;
  std::vector<std::string> stages;
  const RunRecord traced =
      carry_out(plan, {[&](const std::string& stage, std::size_t, std::size_t) { stages.push_back(stage); },
                       kNoListeners.interrupted});
  EXPECT_EQ(times(traced), times(without));
  ASSERT_EQ(traced.entries.size(), 2u);
  for (const RunEntry& entry : traced.entries) {
    EXPECT_EQ(entry.result.kernels.size(), 1u);
    ASSERT_TRUE(entry.result.concurrency);
    EXPECT_EQ(entry.result.concurrency->mean_at_once, 1.0);
  }
  ASSERT_GE(stages.size(), 2u);
  EXPECT_THAT(stages[stages.size() - 2], testing::HasSubstr("tracing kernels of add"));
  EXPECT_THAT(stages.back(), testing::HasSubstr("tracing kernels of mul"));
}

TEST(CarryOut, AnInterruptionKeepsWhatThereIs) {
  const RunRecord record =
      carry_out(pair_of("add:count=1Mi", "mul:count=1Mi", 3), {kNoListeners.stage, [] { return true; }});
  EXPECT_TRUE(record.interrupted);
  EXPECT_THAT(record.entries, testing::IsEmpty());
}

}  // namespace
}  // namespace jitterscope
