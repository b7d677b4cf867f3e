// Several GPUs beside each other: which one is called slow, and what is said of why.
#include "experiment/devices.hpp"

#include <gmock/gmock.h>

#include <cmath>

#include "base/random.hpp"
#include "experiment/simulated_processes.hpp"

namespace jitterscope {
namespace {

using statistics::EffectVerdict;

struct MadeDevice {
  double slower = 0.0;  ///< at the same clock
  double clock = test::kClock;
  double held_by_power = 0.0, held_by_heat = 0.0;
  double power_limit = 700.0;
  bool has_other_process = false;
};

using Records = std::vector<std::vector<RunRecord>>;

// Processes differ by 0.3 %, each GPU's own.
Records records_of(const std::vector<MadeDevice>& devices, std::uint64_t seed, std::size_t processes = 4) {
  Random random(seed);
  Records records;
  for (const MadeDevice& device : devices) {
    std::vector<RunRecord> of_device;
    for (std::size_t p = 0; p < processes; ++p) {
      const double time =
          20.0 * (1.0 + device.slower) * test::kClock / device.clock * std::exp(0.003 * random.normal());
      RunRecord record = test::record_of({test::entry_of(
          "add:count=1024",
          {test::timed(std::vector<double>(12, time), CacheState::warm, Hertz(device.clock))})});
      record.device.power_limit = Watts(device.power_limit);
      for (Measurement& measurement : record.entries[0].result.measurements) {
        for (std::size_t i = 0; i < measurement.rounds.size(); ++i) {
          Round& round = measurement.rounds[i];
          round.started = seconds(static_cast<double>(i));
          round.sensors.emplace();
          round.sensors->throttled_power = seconds(device.held_by_power * static_cast<double>(i));
          round.sensors->throttled_thermal = seconds(device.held_by_heat * static_cast<double>(i));
        }
      }
      if (device.has_other_process) record.findings.emplace_back().id = "other_process";
      of_device.push_back(std::move(record));
    }
    records.push_back(std::move(of_device));
  }
  return records;
}

DeviceBesideOthers third_of_four(const MadeDevice& device) {
  std::vector<MadeDevice> devices(4);
  devices[2] = device;
  const Records records = records_of(devices, 7);
  const std::vector<DevicesComparison> comparisons = compare_devices(records, {}, 0.01);
  EXPECT_EQ(comparisons.size(), 1u);
  const std::vector<DeviceBesideOthers>& found = comparisons.at(0).beside.at(0).devices;
  for (const std::size_t other : {0u, 1u, 3u}) EXPECT_NE(found[other].verdict, EffectVerdict::slower);
  EXPECT_EQ(found[2].verdict, EffectVerdict::slower);
  return found[2];
}

TEST(Devices, SayWhyOneIsSlow) {
  EXPECT_EQ(third_of_four({.slower = 0.05}).why.cause, DeviceCause::cycles);
  EXPECT_EQ(third_of_four({.clock = 0.95 * test::kClock}).why.cause, DeviceCause::clock);
  EXPECT_EQ(third_of_four({.clock = 0.95 * test::kClock, .held_by_power = 0.6}).why.cause,
            DeviceCause::power_cap);
  EXPECT_EQ(
      third_of_four({.clock = 0.95 * test::kClock, .held_by_power = 0.6, .held_by_heat = 0.4}).why.cause,
      DeviceCause::heat);
  EXPECT_EQ(third_of_four({.slower = 0.05, .has_other_process = true}).why.cause, DeviceCause::other_process);
  const WhySlow setting =
      third_of_four({.clock = 0.95 * test::kClock, .held_by_power = 0.6, .power_limit = 600.0}).why;
  EXPECT_EQ(setting.cause, DeviceCause::setting);
  EXPECT_EQ(setting.own, "600 W");
  EXPECT_EQ(setting.others, "700 W");
}

TEST(Devices, TheOthersMedianDoesNotMoveWithASlowOne) {
  const DeviceBesideOthers slow = third_of_four({.slower = 0.5});
  EXPECT_NEAR(slow.against_others.ratio, 1.5, 0.01);
  EXPECT_LT(slow.against_others.low, 1.5);
  EXPECT_GT(slow.against_others.high, 1.5);
}

// Of eight GPUs that are alike, one is called slow in at most one of twenty hosts.
TEST(Devices, ThatAreAlikeAreSeldomCalledSlow) {
  const std::vector<MadeDevice> devices(8);
  std::size_t wrong = 0;
  constexpr std::uint64_t kHosts = 400;
  for (std::uint64_t seed = 1; seed <= kHosts; ++seed) {
    const Records alone = records_of(devices, seed), at_once = records_of(devices, 10'000 + seed);
    bool is_wrong = false;
    for (const DevicesComparison& comparison : compare_devices(alone, at_once, 0.01)) {
      for (const DevicesBeside& beside : comparison.beside) {
        for (const DeviceBesideOthers& device : beside.devices)
          is_wrong = is_wrong || device.verdict == EffectVerdict::slower;
      }
    }
    if (is_wrong) ++wrong;
  }
  EXPECT_LE(wrong, kHosts / 20);
}

TEST(Devices, OfTwoEachIsComparedWithTheOther) {
  const Records alone = records_of({{.slower = 0.04}, {}}, 3),
                at_once = records_of({{.slower = 0.08}, {}}, 4);
  const std::vector<DevicesComparison> comparisons = compare_devices(alone, at_once, 0.01);
  ASSERT_EQ(comparisons.size(), 1u);
  ASSERT_EQ(comparisons[0].beside.size(), 2u);
  EXPECT_EQ(comparisons[0].beside[0].devices[0].verdict, EffectVerdict::slower);
  EXPECT_EQ(comparisons[0].beside[0].devices[1].verdict, EffectVerdict::faster);
  EXPECT_NEAR(comparisons[0].at_once_ratios[0].ratio, 1.08 / 1.04, 0.01);
  EXPECT_NEAR(comparisons[0].at_once_ratios[1].ratio, 1.0, 0.01);
}

// The median of two others is their mean: a slow one would make the good ones "12 % faster".
TEST(Devices, OfThreeASlowOneMakesNoOtherFast) {
  const std::vector<DevicesComparison> comparisons =
      compare_devices(records_of({{}, {.slower = 0.3}, {}}, 6), {}, 0.01);
  const std::vector<DeviceBesideOthers>& devices = comparisons.at(0).beside.at(0).devices;
  for (const std::size_t good : {0u, 2u}) {
    EXPECT_NEAR(devices[good].against_others.ratio, 1.0, 0.01);
    EXPECT_NE(devices[good].verdict, EffectVerdict::faster);
  }
  EXPECT_NEAR(devices[1].against_others.ratio, 1.3, 0.01);
  EXPECT_EQ(devices[1].verdict, EffectVerdict::slower);
}

TEST(Devices, OfFiveTwoSlowOnesMakeNoOtherFast) {
  const std::vector<DevicesComparison> comparisons =
      compare_devices(records_of({{}, {.slower = 0.3}, {}, {.slower = 0.3}, {}}, 6), {}, 0.01);
  const std::vector<DeviceBesideOthers>& devices = comparisons.at(0).beside.at(0).devices;
  for (const std::size_t good : {0u, 2u, 4u}) EXPECT_NEAR(devices[good].against_others.ratio, 1.0, 0.01);
}

// No two GPUs of a cluster may have the same power limit.
TEST(Devices, WhoseLimitIsBelowEachOfTheOthersAreSlowByIt) {
  const auto third = [](double limit, double held = 0.9) {
    const Records records =
        records_of({{.power_limit = 659},
                    {.power_limit = 759},
                    {.clock = 0.9 * test::kClock, .held_by_power = held, .power_limit = limit}},
                   7);
    return compare_devices(records, {}, 0.01).at(0).beside.at(0).devices[2].why;
  };
  const WhySlow low = third(600);
  EXPECT_EQ(low.cause, DeviceCause::setting);
  EXPECT_EQ(low.setting, "power limit");
  EXPECT_EQ(low.own, "600 W");
  EXPECT_EQ(low.others, "659 to 759 W");
  EXPECT_EQ(third(700).cause, DeviceCause::power_cap);
  EXPECT_EQ(third(800).cause, DeviceCause::power_cap);
  EXPECT_EQ(third(600, 0.0).cause, DeviceCause::clock) << "the limit was never reached";
}

// Of a cluster: the third is the slowest by its limit, the second slower than the first by its own.
TEST(Devices, EachHasItsOwnLimitAndIsComparedWithTheFasterOnes) {
  const Records records =
      records_of({{.power_limit = 910},
                  {.clock = 0.9 * test::kClock, .held_by_power = 0.5, .power_limit = 725},
                  {.clock = 0.75 * test::kClock, .held_by_power = 1.0, .power_limit = 612}},
                 7);
  const std::vector<DevicesComparison> comparisons = compare_devices(records, {}, 0.01);
  const std::vector<DeviceBesideOthers>& devices = comparisons.at(0).beside.at(0).devices;
  EXPECT_EQ(devices[1].why.own, "725 W");
  EXPECT_EQ(devices[1].why.others, "910 W where they are faster");
  EXPECT_EQ(devices[2].why.others, "725 to 910 W");
}

// Of bursts a power limit holds nothing, and a GPU far below its highest clock is not held by that either.
TEST(Devices, ALimitThatWasNotReachedIsNoReason) {
  const auto with = [](std::optional<double> watts, double highest_megahertz) {
    Records records = records_of({{}, {.clock = 0.9 * test::kClock, .power_limit = 600}}, 7);
    for (RunRecord& record : records[1]) {
      record.device.maximum_clock = Hertz(highest_megahertz * 1e6);
      for (Round& round : record.entries[0].result.measurements[0].rounds) {
        round.sensors->throttled_power.reset();  // as where NVML does not count held time
        if (watts) round.sensors->power = Watts(*watts);
      }
    }
    for (RunRecord& record : records[0]) record.device.maximum_clock = Hertz(10 * test::kClock);
    return compare_devices(records, {}, 0.01).at(0).beside.at(0).devices[1].why;
  };
  const double own = 0.9 * test::kClock * 1e-6;
  EXPECT_EQ(with({}, 2 * own).cause, DeviceCause::clock);
  EXPECT_EQ(with(400.0, 2 * own).cause, DeviceCause::clock);
  EXPECT_EQ(with(590.0, 2 * own).setting, "power limit");
  EXPECT_EQ(with({}, own).setting, "highest clock");
  EXPECT_EQ(with({}, 1.05 * own).setting, "highest clock")
      << "the others run at a clock that it does not have";
}

// 3 calls of 20 us and one of 100 us: a GPU that is slower in the second alone is so by 25 of 160.
TEST(Devices, AreComparedInAllCallsTogether) {
  Records records = records_of({{}, {}}, 5);
  for (std::size_t d = 0; d < 2; ++d) {
    const Records more = records_of({{.slower = d == 0 ? 4.0 : 5.25}}, 20 + d);
    for (std::size_t p = 0; p < records[d].size(); ++p) {
      records[d][p].entries.push_back(more[0][p].entries[0]);
      records[d][p].entries[1].result.subject = Operation::parse("add:count=2048");
    }
  }
  const std::vector<std::int64_t> calls = {3, 1};
  const std::vector<DevicesComparison> comparisons = compare_devices(records, records, 0.01, calls);
  ASSERT_EQ(comparisons.size(), 2u);
  EXPECT_EQ(comparisons[0].calls, 3);
  const std::vector<DevicesComparison> totals = compare_totals(comparisons, 0.01);
  ASSERT_EQ(totals.size(), 1u);
  EXPECT_EQ(totals[0].operation, "all 4 calls of 2 operations");
  ASSERT_EQ(totals[0].beside.size(), 2u);
  EXPECT_NEAR(totals[0].beside[0].devices[0].time.median.value(), 160e3, 800);
  EXPECT_NEAR(totals[0].beside[0].devices[1].time.median.value(), 185e3, 800);
  EXPECT_NEAR(totals[0].beside[0].devices[1].against_others.ratio, 185.0 / 160.0, 0.01);
  EXPECT_EQ(totals[0].beside[0].devices[1].verdict, EffectVerdict::slower);
  EXPECT_NEAR(totals[0].at_once_ratios.at(0).ratio, 1.0, 1e-9);
  EXPECT_TRUE(compare_totals(std::span(comparisons).first(1), 0.01).empty()) << "of one operation";
}

TEST(Devices, WhatFailedOnOneIsNotCompared) {
  Records records = records_of({{}, {}}, 5);
  records[1][2] = test::record_of({test::failed_entry("add:count=1024", "out of memory")});
  EXPECT_TRUE(compare_devices(records, {}, 0.01).empty());
}

}  // namespace
}  // namespace jitterscope
