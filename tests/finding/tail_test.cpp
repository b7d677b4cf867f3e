// Slow launches that come now and then are a finding, and what any machine has is none.
#include <gmock/gmock.h>

#include "finding/simulated.hpp"

namespace jitterscope {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

std::vector<Finding> tails(const Measurement& measurement, bool on_gpu = false) {
  return simulated::with_id(find_all(simulated::result_of({measurement}), simulated::context(on_gpu)),
                            "tail");
}

Measurement with_spikes(double share, double spike, std::uint64_t seed) {
  simulated::Record record;
  record.spikes = share;
  record.spike = spike;
  return simulated::measure(record, seed);
}

TEST(Tail, SaysHowManyAreHowSlowAndWhatTheMeanIs) {
  const auto findings = tails(with_spikes(0.05, 3.0, 1));
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_NEAR(simulated::evidence_number(findings[0], "share_ratio"), 0.05, 0.02);
  EXPECT_NEAR(simulated::evidence_number(findings[0], "slow_s"), 3 * 1.368e-3, 2e-5);
  EXPECT_NEAR(simulated::evidence_number(findings[0], "mean_s"), 1.1 * 1.368e-3, 0.05e-3);
  EXPECT_NEAR(findings[0].effect.value_or(0), 0.1, 0.04);
  EXPECT_THAT(findings[0].headline,
              HasSubstr(" % of launches take 4.11 ms, the others 1.37 ms: 1.49 ms on average"));
  EXPECT_FALSE(findings[0].places.empty());
}

TEST(Tail, OneInTwentyIsSeen) {
  const auto seen = [](double spike) {
    return simulated::detection_rate("tail", 200, [spike](std::uint64_t seed) {
      return simulated::result_of({with_spikes(0.05, spike, seed)});
    });
  };
  EXPECT_GE(seen(3.0), 0.95);
  EXPECT_GE(seen(1.6), 0.6);
}

TEST(Tail, WhatAnyMachineHasIsNone) {
  EXPECT_EQ(simulated::detection_rate(
                "tail", 400,
                [](std::uint64_t seed) { return simulated::result_of({with_spikes(0.02, 1.3, seed)}); }),
            0.0);
}

TEST(Tail, AFirstLaunchThatIsSlowBehindEachIdleIsAnother) {
  simulated::Record record;
  record.effect = [](const simulated::RoundPosition&) { return simulated::RoundEffect{.first_launch = 3.0}; };
  EXPECT_THAT(tails(simulated::measure(record, 1)), IsEmpty());
}

TEST(Tail, LevelsAreAnother) {
  Measurement measurement = with_spikes(0.2, 2.0, 1);
  measurement.modes = {{milliseconds(1.368), 0.8}, {milliseconds(2.736), 0.2}};
  EXPECT_THAT(tails(measurement), IsEmpty());
}

TEST(Tail, BesideLevelsWhatIsSlowerThanAllIsSeen) {
  Measurement measurement = with_spikes(0.05, 4.0, 1);
  for (std::size_t i = 0; i < measurement.rounds.size(); i += 2) {
    for (Nanoseconds& launch : measurement.rounds[i].launches) launch = launch * 1.3;
  }
  measurement.modes = {{milliseconds(1.368), 0.5}, {milliseconds(1.778), 0.5}};
  const auto findings = tails(measurement);
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_NEAR(simulated::evidence_number(findings[0], "share_ratio"), 0.05, 0.02);
}

TEST(Tail, OfSlowOnesThatDifferTheMeanIsSaidToo) {
  Measurement measurement = with_spikes(0.05, 3.0, 1);
  int slow = 0;
  for (Round& round : measurement.rounds) {
    for (Nanoseconds& launch : round.launches) {
      if (launch > milliseconds(3) && slow++ % 3 == 0) launch = launch * 4.0;
    }
  }
  const auto findings = tails(measurement);
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_THAT(findings[0].headline, HasSubstr(" in the median and "));
  const auto number = [&](const char* key) { return simulated::evidence_number(findings[0], key); };
  const double share = number("share_ratio");
  EXPECT_NEAR(share * number("slow_mean_s") + (1.0 - share) * number("others_s"), number("mean_s"), 1e-6);
}

TEST(Tail, TheRemedyIsOfTheDevice) {
  EXPECT_THAT(tails(with_spikes(0.05, 3.0, 1), true).at(0).remedy, HasSubstr("on the GPU"));
  EXPECT_THAT(tails(with_spikes(0.05, 3.0, 1), false).at(0).remedy, HasSubstr("collecting garbage"));
}

}  // namespace
}  // namespace jitterscope
