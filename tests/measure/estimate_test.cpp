#include "measure/estimate.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <cstdint>
#include <vector>

#include "base/random.hpp"
#include "measure/steadiness.hpp"

namespace jitterscope {
namespace {

Round round_of(std::initializer_list<double> launches, double started = 0.0) {
  Round round;
  round.started = Nanoseconds(started);
  for (const double launch : launches) round.launches.push_back(Nanoseconds(launch));
  return round;
}

std::vector<Round> rounds_of(std::initializer_list<double> times) {
  std::vector<Round> rounds;
  for (const double time : times) rounds.push_back(round_of({time}));
  return rounds;
}

TEST(Estimate, IsTheMedianOfRoundMedians) {
  const std::vector<Round> rounds = {round_of({1, 2, 900}), round_of({5, 4, 3}), round_of({10, 10, 10})};
  EXPECT_EQ(estimate_time(rounds).median, Nanoseconds(4));
  EXPECT_EQ(estimate_time(rounds).rounds, 3);
}

TEST(Estimate, StoppingLooksAtAWiderIntervalThanIsReported) {
  const std::vector<double> lucky = {90, 99.9, 99.9, 99.95, 100, 100, 100.05, 100.1, 100.1, 110};
  EXPECT_LT(estimate_of(lucky).precision(), 0.005);
  EXPECT_FALSE(may_stop(lucky, 0.005));
  EXPECT_FALSE(may_stop(std::vector<double>(5, 100.0), 0.005)) << "five give no interval";
  EXPECT_TRUE(may_stop(std::vector<double>(10, 100.0), 0.005));
}

TEST(Estimate, IntervalIsThatOfOrderStatistics) {
  // Between the second and the third value, and the eighth and the ninth: tests/statistics has the weight.
  const std::vector<Round> rounds = rounds_of({7, 3, 9, 1, 10, 2, 8, 4, 6, 5});
  const TimeEstimate time = estimate_time(rounds);
  EXPECT_EQ(time.median, Nanoseconds(5.5));
  EXPECT_NEAR(time.low.value(), 2.6576, 1e-3);
  EXPECT_NEAR(time.high.value(), 8.3424, 1e-3);
  EXPECT_NEAR(time.precision(), 2.8424 / 5.5, 1e-3);
}

TEST(Estimate, FewRoundsClaimNoPrecision) {
  EXPECT_TRUE(std::isinf(estimate_time(rounds_of({})).precision()));
  EXPECT_TRUE(std::isinf(estimate_time(rounds_of({5})).precision()));
  EXPECT_TRUE(std::isinf(estimate_time(rounds_of({5, 5, 5, 5, 5})).precision()));
  EXPECT_DOUBLE_EQ(estimate_time(rounds_of({5, 5, 5, 5, 5, 5})).precision(), 0.0);
}

TEST(Estimate, BlocksAreConsecutive) {
  std::vector<Round> rounds;
  for (int i = 0; i < 100; ++i) rounds.push_back(round_of({static_cast<double>(i / 10)}));
  const TimeEstimate time = estimate_time_in_blocks(rounds, 10);
  EXPECT_EQ(time.rounds, 10);
  EXPECT_EQ(time.median, Nanoseconds(4.5));
  EXPECT_NEAR(time.low.value(), 1.6576, 1e-3);
  EXPECT_NEAR(time.high.value(), 7.3424, 1e-3);
}

TEST(Estimate, RoundsBehindOneIdleCountOnce) {
  std::vector<Round> rounds = rounds_of({1, 3, 10, 20, 5});
  rounds[0].block = rounds[1].block = 0;
  rounds[2].block = 1;
  rounds[3].block = rounds[4].block = -1;  // alone, each of them
  EXPECT_THAT(block_times(rounds), ::testing::ElementsAre(2, 10, 20, 5));
}

TEST(Estimate, AnIntervalHoldsForTheNextProcess) {
  Measurement measurement;
  measurement.rounds = rounds_of({997, 998, 999, 1000, 1000, 1000, 1000, 1001, 1002, 1003});
  measurement.process_variation = {.placed = 0.003, .fixed = 0.010};
  measurement.constant.scatter = Nanoseconds(4);
  summarise(measurement, 0);
  const double own = (measurement.repeatability.high - measurement.repeatability.low).value() / 2;
  EXPECT_NEAR(measurement.uncertainty.rounds.value(), own, 1e-9);
  EXPECT_NEAR(measurement.uncertainty.processes.value(), 19.6, 0.01) << "operands stayed where they were";
  EXPECT_EQ(measurement.uncertainty.instrument, Nanoseconds(4));
  EXPECT_NEAR((measurement.time.high - measurement.time.median).value(), std::hypot(own, 19.6, 4), 0.01);
  measurement.is_placed_anew = true;
  summarise(measurement, 0);
  EXPECT_NEAR(measurement.uncertainty.processes.value(), 5.88, 0.01);
  measurement.process_variation.degrees_of_freedom = 5;
  summarise(measurement, 0);
  EXPECT_NEAR(measurement.uncertainty.processes.value(), 2.5706 * 3, 0.01)
      << "from six processes, by Student";
  measurement.process_variation = {.placed = 5.0, .fixed = 5.0};
  summarise(measurement, 0);
  EXPECT_EQ(measurement.time.low, Nanoseconds(0)) << "no time is below none";
  measurement.rounds = rounds_of({-5, -5, -4, -4, -4, -3, -3});  // the constant was read too large
  summarise(measurement, 0);
  EXPECT_EQ(measurement.time.median, Nanoseconds(0));
  EXPECT_EQ(measurement.repeatability.median, Nanoseconds(-4));
}

TEST(Estimate, StoppingIsNotKeptFromByWhatProcessesDifferBy) {
  Measurement measurement;
  measurement.rounds = rounds_of({997, 998, 999, 1000, 1000, 1000, 1000, 1001, 1002, 1003});
  EXPECT_TRUE(may_stop(measurement, 0.0031));
  measurement.process_variation.fixed = 0.0005;
  EXPECT_FALSE(may_stop(measurement, 0.0031)) << "both together are wider";
  measurement.process_variation.fixed = 0.05;
  EXPECT_TRUE(may_stop(measurement, 0.0031)) << "no number of rounds would help";
}

TEST(Estimate, FewerRoundsThanBlocksStandForThemselves) {
  EXPECT_EQ(estimate_time_in_blocks(rounds_of({1, 2, 3}), 20).rounds, 3);
}

TEST(Estimate, SummaryBeginsAtTheRoundAsked) {
  Measurement measurement;
  measurement.rounds = rounds_of({900, 900, 5, 5, 5, 5, 5, 5});
  summarise(measurement, 2);
  EXPECT_EQ(measurement.time.median, Nanoseconds(5));
  EXPECT_EQ(measurement.time.rounds, 6);
  EXPECT_EQ(measurement.launches.maximum, Nanoseconds(5));
  EXPECT_EQ(measurement.launches.values, 6);
}

TEST(Estimate, SummaryOfNothingIsEmpty) {
  Measurement measurement;
  summarise(measurement, 0);
  EXPECT_EQ(measurement.time.rounds, 0);
  EXPECT_EQ(measurement.launches.values, 0);
}

TEST(Estimate, PercentilesAreOverLaunches) {
  Measurement measurement;
  Round round;
  for (int i = 101; i > 0; --i) round.launches.push_back(Nanoseconds(i));
  measurement.rounds = {round};
  summarise(measurement, 0);
  EXPECT_EQ(measurement.launches.minimum, Nanoseconds(1));
  EXPECT_EQ(measurement.launches.p5, Nanoseconds(6));
  EXPECT_EQ(measurement.launches.p25, Nanoseconds(26));
  EXPECT_EQ(measurement.launches.median, Nanoseconds(51));
  EXPECT_EQ(measurement.launches.p75, Nanoseconds(76));
  EXPECT_EQ(measurement.launches.p95, Nanoseconds(96));
  EXPECT_EQ(measurement.launches.maximum, Nanoseconds(101));
}

TEST(Estimate, WhatReadsNoTimeIsInTheMedianAlone) {
  Measurement measurement;
  for (int i = 0; i < 30; ++i) measurement.rounds.push_back(round_of({-20.0, 0.0, 5.0, 5.1, 30.0}));
  summarise(measurement, 0);
  EXPECT_EQ(measurement.time.median, Nanoseconds(5)) << "both sides of what was disturbed";
  EXPECT_EQ(measurement.launches.values, 90);
  EXPECT_EQ(measurement.launches.minimum, Nanoseconds(5));
  EXPECT_EQ(measurement.launches.maximum, Nanoseconds(30));
  for (const Mode& mode : measurement.modes) EXPECT_GT(mode.location, Nanoseconds(0));
}

TEST(Estimate, NoDistributionWhereNothingReadsATime) {
  Measurement measurement;
  for (int i = 0; i < 10; ++i) measurement.rounds.push_back(round_of({-1.0, 0.0}));
  summarise(measurement, 0);
  EXPECT_EQ(measurement.launches.values, 0);
  EXPECT_EQ(measurement.launches.median, Nanoseconds(0));
  EXPECT_TRUE(measurement.modes.empty());
}

TEST(Estimate, SummaryTwiceIsTheSummaryOnce) {
  Measurement measurement;
  for (int i = 0; i < 40; ++i) {
    Round round;
    for (int j = 0; j < 20; ++j)
      round.launches.push_back(Nanoseconds((j % 2 == 0 ? 1000 : 1200) + (i * 7 + j) % 5));
    measurement.rounds.push_back(round);
  }
  summarise(measurement, 0);
  ASSERT_EQ(measurement.modes.size(), 2u);
  summarise(measurement, 0);
  EXPECT_EQ(measurement.modes.size(), 2u);
}

// Times that rise by more than the clock falls: a slip of the timer, not a part of the time below nothing.
TEST(Estimate, AShareOfTheTimeIsBetweenNothingAndAll) {
  Measurement measurement;
  for (int index = 0; index < 20; ++index) {
    const double clock = 1400 + index;
    Round round = round_of({100.0 * std::pow(1410.0 / clock, 1.4)});
    round.clock = megahertz(clock);
    measurement.rounds.push_back(round);
  }
  summarise(measurement, 0);
  ASSERT_TRUE(measurement.at_reference_clock);
  EXPECT_EQ(measurement.at_reference_clock->clock_share, 1.0);
  EXPECT_EQ(measurement.at_reference_clock->fixed_part, Nanoseconds(0));
  EXPECT_NEAR(measurement.at_reference_clock->clock_share_error, 0.4, 0.02);
}

TEST(Estimate, CyclesComeFromRoundsThatKnowTheirClock) {
  Measurement measurement;
  measurement.rounds = rounds_of({1000, 1000, 500});
  measurement.rounds[0].clock = measurement.rounds[1].clock = megahertz(1500);
  summarise(measurement, 0);
  ASSERT_TRUE(measurement.clock);
  EXPECT_EQ(measurement.clock->median, megahertz(1500));
  ASSERT_TRUE(measurement.cycles);
  EXPECT_NEAR(measurement.cycles->value(), 1500, 1e-6);
}

// 200 rounds, 10 ms apart.
std::vector<Round> record(const std::function<void(Round&, double share)>& set) {
  std::vector<Round> rounds;
  for (int i = 0; i < 200; ++i) {
    rounds.push_back(round_of({100.0 + i % 3 * 0.01}, i * 10e6));
    set(rounds.back(), i / 200.0);
  }
  return rounds;
}

// Calls of 300 µs on a core whose speed something else halves for stretches of random length, 12 calls on the
// mean; every 5th call does half as much again. Gaps lie between what is watched.
struct WatchedCalls {
  std::vector<std::int64_t> numbers;
  std::vector<double> times;
};
WatchedCalls calls_on_a_shared_core(std::uint64_t seed, double slow_work) {
  Random random(seed);
  WatchedCalls calls;
  bool is_slow_core = false;
  for (std::int64_t number = 0; number < 1500; ++number) {
    if (random.uniform() < 1.0 / 12.0) is_slow_core = !is_slow_core;
    if (number % 11 == 0) number += static_cast<std::int64_t>(random.below(3));
    calls.numbers.push_back(number);
    const double work = number % 5 == 4 ? slow_work : 1.0;
    calls.times.push_back(3e5 * work * (is_slow_core ? 1.0 : 0.5) * (1.0 + 0.03 * random.normal()));
  }
  return calls;
}

TEST(Recurrence, IsSeenWhereTheCoreIsSlowAtTimes) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const WatchedCalls calls = calls_on_a_shared_core(seed, 1.5);
    const auto found = find_recurrence(calls.numbers, calls.times);
    ASSERT_TRUE(found) << seed;
    EXPECT_EQ(found->period, 5);
    EXPECT_EQ(found->slow, 1);
    EXPECT_NEAR(found->slow_time / found->fast_time, 1.5, 0.05) << "at the same speed of the core";
  }
}

TEST(Recurrence, IsNotSeenInASlowCoreAlone) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    const WatchedCalls calls = calls_on_a_shared_core(seed, 1.0);
    EXPECT_FALSE(find_recurrence(calls.numbers, calls.times)) << seed;
  }
}

TEST(Steadiness, SettledRecordGivesItsThirdQuarter) {
  const auto rounds = record([](Round&, double) {});
  ASSERT_TRUE(settled_since(rounds));
  EXPECT_NEAR(static_cast<double>(*settled_since(rounds)), 100, 1);
}

TEST(Steadiness, NeedsEqualTimesInTheLastQuarters) {
  const auto with_step = [](double at, double size) {
    return record([=](Round& round, double share) {
      if (share >= at) round.launches.front() = round.launches.front() * (1 + size);
    });
  };
  EXPECT_TRUE(settled_since(with_step(0.45, 0.1)));
  EXPECT_TRUE(settled_since(with_step(0.75, 0.003)));
  EXPECT_FALSE(settled_since(with_step(0.75, 0.01)));
}

TEST(Steadiness, NeedsEqualClocksWhereTheyAreKnown) {
  const auto falling =
      record([](Round& round, double share) { round.clock = megahertz(share < 0.75 ? 1980 : 1950); });
  EXPECT_FALSE(settled_since(falling));
  const auto standing = record([](Round& round, double) { round.clock = megahertz(1980); });
  EXPECT_TRUE(settled_since(standing));
}

TEST(Steadiness, NeedsCountersThatGrowEvenly) {
  const auto counting = [](bool thermal) {
    return record([=](Round& round, double share) {
      SensorReading reading;
      reading.throttled_power = Nanoseconds(thermal ? 0.0 : std::max(0.0, share - 0.75) * 2e9);
      reading.throttled_thermal = Nanoseconds(thermal ? std::max(0.0, share - 0.75) * 2e9 : 0.0);
      round.sensors = reading;
    });
  };
  EXPECT_FALSE(settled_since(counting(false)));
  EXPECT_FALSE(settled_since(counting(true)));
}

TEST(Steadiness, ShortRecordsAreNotSettled) {
  EXPECT_FALSE(settled_since({}));
  EXPECT_FALSE(settled_since(rounds_of({1, 1, 1, 1, 1, 1, 1, 1, 1})));
}

TEST(Steadiness, SaysWhichWayItWent) {
  const auto step = [](double factor) {
    return record([=](Round& round, double share) {
      if (share < 0.6) round.launches.front() = round.launches.front() * factor;
    });
  };
  EXPECT_EQ(why_not_steady(step(1.1)), Steadiness::Verdict::warming_up);
  EXPECT_EQ(why_not_steady(step(0.9)), Steadiness::Verdict::slowing_down);
}

// One call of twenty takes three times as long: too rare for a level, and not for the mean.
TEST(Modes, ARareSlowCallIsInTheMeanBesideThem) {
  const std::vector<Mode> modes = {{microseconds(740), 0.65}, {microseconds(775), 0.35}};
  EXPECT_EQ(modes_text(modes, std::nullopt, microseconds(753)),
            "65 % near 740.0 µs, 35 % near 775.0 µs; 752.2 µs on average");
  EXPECT_EQ(modes_text(modes, std::nullopt, microseconds(826)),
            "65 % near 740.0 µs, 35 % near 775.0 µs; 752.2 µs on average, 826.0 µs with the rare slow ones");
}

}  // namespace
}  // namespace jitterscope
