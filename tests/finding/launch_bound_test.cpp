#include <gmock/gmock.h>

#include "finding/simulated.hpp"

namespace jitterscope {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

std::vector<Finding> with_launch_cost(double times, QueueMode queue = QueueMode::saturated,
                                      bool on_gpu = true) {
  simulated::Record record{.time = microseconds(1.184), .grain = Nanoseconds(0)};
  record.conditions.queue = queue;
  Result result = simulated::result_of({simulated::measure(record, 1)});
  result.launch_cost = result.measurements[0].time.median * times;
  return simulated::with_id(find_all(result, simulated::context(on_gpu)), "launch_bound");
}

TEST(LaunchBound, GivesTheFactor) {
  const auto findings = with_launch_cost(2.5);
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_THAT(findings[0].sentence, HasSubstr("2.50 times the 1.18"));
  EXPECT_THAT(findings[0].remedy, HasSubstr("CUDA graph"));
  EXPECT_NEAR(simulated::evidence_number(findings[0], "launch_cost_over_time_ratio"), 2.5, 1e-6);
}

TEST(LaunchBound, OnePercentOnEitherSideOfTheBorder) {
  EXPECT_THAT(with_launch_cost(1.01), SizeIs(1));
  EXPECT_THAT(with_launch_cost(0.99), IsEmpty());
}

TEST(LaunchBound, NotFromEagerTimesAndNotOnACpu) {
  EXPECT_THAT(with_launch_cost(2.5, QueueMode::eager), IsEmpty());
  EXPECT_THAT(with_launch_cost(2.5, QueueMode::saturated, false), IsEmpty());
}

}  // namespace
}  // namespace jitterscope
