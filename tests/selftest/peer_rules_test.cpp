#include "selftest/peer_rules.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "physics/preset.hpp"

namespace jitterscope::selftest {
namespace {

TEST(RunningMean, FourValuesByHand) {
  RunningMean mean;
  EXPECT_EQ(mean.deviation(), 0.0);
  for (const double value : {2.0, 4.0, 4.0, 6.0}) mean.add(value);
  EXPECT_EQ(mean.count(), 4);
  EXPECT_DOUBLE_EQ(mean.mean(), 4.0);
  EXPECT_DOUBLE_EQ(mean.sum(), 16.0);
  EXPECT_DOUBLE_EQ(mean.deviation(), std::sqrt(8.0 / 3.0));
}

std::int64_t samples_until_finished(const std::function<Nanoseconds(std::int64_t)>& time) {
  StdrelCriterion criterion;
  for (std::int64_t samples = 0; samples < 100'000; ++samples) {
    if (criterion.is_finished()) return samples;
    criterion.add(time(samples));
  }
  return -1;
}

TEST(StdrelCriterion, EqualTimesEndWithHalfASecondOfThem) {
  EXPECT_EQ(samples_until_finished([](std::int64_t) { return milliseconds(1); }), 501);
}

TEST(StdrelCriterion, NoiseAboveItsLimitEndsOnceItIsSteady) {
  // ±1 %: the deviation is 1 % and more of the mean, less so with each pair; after half a second (10 ms each,
  // 51 samples) 64 values of noise are still missing, and only each 16th sample is looked at.
  const auto alternating = [](std::int64_t i) { return milliseconds(i % 2 == 0 ? 9.9 : 10.1); };
  EXPECT_EQ(samples_until_finished(alternating), 80);
}

TEST(StdrelCriterion, NoiseThatKeepsGrowingDoesNotEnd) {
  const auto growing = [](std::int64_t i) {
    return milliseconds(10.0 * std::exp((i % 2 == 0 ? 1e-3 : -1e-3) * static_cast<double>(i + 20)));
  };
  StdrelCriterion criterion;
  for (std::int64_t i = 0; i < 300; ++i) {
    criterion.add(growing(i));
    ASSERT_FALSE(criterion.is_finished()) << i;
  }
}

Scene quiet_product() {
  return {.name = "product",
          .gpu = physics::find_preset("quiet"),
          .operation = Operation::parse("matmul:m=8192,n=8192,k=8192,dtype=bf16"),
          .options = {}};
}

TEST(PeerRules, FixedCountTakesAHundredAfterTen) {
  PeerBench bench(quiet_product(), 1);
  const PeerReport report = fixed_count_rule()->measure(bench);
  EXPECT_EQ(report.samples, 100);
  EXPECT_EQ(bench.times().size(), 110u);
  double sum = 0.0;
  for (std::size_t i = 10; i < 110; ++i) sum += bench.times()[i].value();
  EXPECT_NEAR(report.mean.value(), sum / 100.0, 1e-6);
}

TEST(PeerRules, DoBenchFillsAHundredMilliseconds) {
  PeerBench bench(quiet_product(), 1);
  const PeerReport report = do_bench_rule()->measure(bench);
  // 1.12 ms and a flush: 1 + 5 launches come before, then a quarter as many as are timed.
  EXPECT_GT(report.samples, 70);
  EXPECT_LT(report.samples, 90);
  EXPECT_NEAR(static_cast<double>(bench.times().size()), 6.0 + 1.25 * static_cast<double>(report.samples),
              1.0);
}

TEST(PeerRules, NvbenchEndsAfterHalfASecondOfAQuietKernel) {
  PeerBench bench(quiet_product(), 1);
  const PeerReport report = nvbench_rule()->measure(bench);
  EXPECT_NEAR(static_cast<double>(report.samples) * to_seconds(report.mean), 0.5, 0.002);
  EXPECT_GT(report.duration, seconds(0.5));
  // Of a deviation of 0.03 %: 1.96 · 0.0003 / √446.
  EXPECT_NEAR(report.half_width / report.mean, 2.8e-5, 0.5e-5);
}

}  // namespace
}  // namespace jitterscope::selftest
