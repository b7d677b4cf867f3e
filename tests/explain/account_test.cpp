// Two records whose difference is known.
#include "explain/account.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "experiment/processes.hpp"
#include "experiment/simulated_processes.hpp"
#include "experiment/times_apart.hpp"
#include "explain/accounts.hpp"
#include "jitterscope/error.hpp"
#include "output/account_table.hpp"

namespace jitterscope::explain {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

using test::has_part;
using test::measured;
using test::only_account;
using test::part;
using test::record_with;
using test::time_at;

TEST(Account, AClockThatFellExplainsALongerTime) {
  const Hertz fast = megahertz(1000), slow = megahertz(800);
  const Account account = only_account(record_with({measured(time_at(fast), fast)}),
                                       record_with({measured(time_at(slow), slow)}));
  EXPECT_NEAR(account.time.ratio, 1.15, 0.001);
  EXPECT_NEAR(part(account, "clock").ratio->ratio, 1.15, 0.03);
  EXPECT_TRUE(account.is_explained());
  EXPECT_THAT(
      conclusions_of({account}).front(),
      AllOf(HasSubstr("add:count=1024"), HasSubstr("clock accounts for +15"), HasSubstr("not known")));
}

// 40 us of work on the GPU, launched eagerly by hosts that take as long as this.
RunRecord launched_by_host_of(Nanoseconds launch, QueueMode queue = QueueMode::eager) {
  Measurement measurement = measured(
      std::max(microseconds(40), launch * (queue == QueueMode::eager ? 1.05 : 0.0)), megahertz(1000));
  measurement.conditions.queue = queue;
  RunRecord record = record_with({measurement});
  record.entries.front().result.launch_cost = launch;
  return record;
}

TEST(Account, OfEagerLaunchesASlowerHostIsACause) {
  const RunRecord fast = launched_by_host_of(microseconds(3)), slow = launched_by_host_of(microseconds(120)),
                  slower = launched_by_host_of(microseconds(240));
  for (const auto& [first, second] : {std::pair(fast, slow), {slow, slower}, {slow, fast}}) {
    const Account account = only_account(first, second);
    EXPECT_TRUE(account.is_explained()) << account.time.ratio;
    EXPECT_TRUE(is_named(part(account, "host launch"))) << account.time.ratio;
  }
  EXPECT_FALSE(has_part(only_account(fast, launched_by_host_of(microseconds(9))), "host launch"))
      << "the GPU works longer than either takes to launch";
  EXPECT_THAT(conclusions_of({only_account(fast, slow)}).front(), HasSubstr("host launch"));
}

TEST(Account, OfHeldLaunchesASlowerHostIsNoted) {
  const RunRecord fast = launched_by_host_of(microseconds(3), QueueMode::saturated),
                  slow = launched_by_host_of(microseconds(30), QueueMode::saturated);
  EXPECT_THAT(notes_on(fast, slow, account_for(fast, slow)),
              testing::Contains(HasSubstr("The host takes 3.00 µs to launch a call, then 30.0 µs")));
  EXPECT_THAT(notes_on(fast, fast, account_for(fast, fast)), IsEmpty());
}

// Two records at 1000 and 800 MHz, the second of which takes so many times as long, without a fit.
std::pair<RunRecord, RunRecord> without_fits(double longer) {
  const auto at = [](double us, Hertz clock) {
    return record_with({measured(microseconds(us), clock, CacheState::warm, false)});
  };
  return {at(100.0, megahertz(1000)), at(100.0 * longer, megahertz(800))};
}

TEST(Account, WithoutAFitTheClockIsBoundedByWhatChanged) {
  for (const double longer : {1.15, 1.004, 1.0, 0.97, 1.4}) {
    SCOPED_TRACE(longer);
    const auto [first, second] = without_fits(longer);
    const Account account = only_account(first, second);
    const AccountedPart& clock = part(account, "clock");
    EXPECT_TRUE(clock.is_bound);
    EXPECT_NEAR(clock.ratio->low, 1.0, 0.001);
    EXPECT_NEAR(clock.ratio->high, std::clamp(account.time.high, 1.0, 1.25), 0.001);
    EXPECT_NEAR(clock.ratio->ratio, std::clamp(longer, 1.0, 1.25), 0.001);
    EXPECT_EQ(account.is_explained(), longer > 0.99 && longer < 1.25);
  }
}

TEST(Account, WhatABoundMayDoIsSaidWhereTheTimeChanged) {
  const auto said = [](double longer) {
    const auto [first, second] = without_fits(longer);
    return conclusions_of({only_account(first, second)}).front();
  };
  EXPECT_THAT(said(1.15), HasSubstr("clock accounts for up to +15.0"));
  EXPECT_THAT(said(1.0), AllOf(HasSubstr("no change is shown"), Not(HasSubstr("clock"))));
  EXPECT_THAT(said(1.4), AllOf(HasSubstr("up to +25"), HasSubstr("stays unexplained")));
}

TEST(Account, ASmallMoveOfTheClockIsABoundToo) {
  const auto at = [](double us, Hertz clock) {
    return record_with({measured(microseconds(us), clock, CacheState::warm, false)});
  };
  EXPECT_NEAR(part(only_account(at(100, megahertz(1000)), at(110, megahertz(995))), "clock").ratio->high,
              1.005, 1e-4);
}

// Each GPU at its maximum clock: the one of the lower does not work faster by it.
TEST(Account, ALowerMaximumClockMakesNothingFaster) {
  auto [first, second] = without_fits(0.997);
  first.device.maximum_clock = megahertz(1000);
  second.device.maximum_clock = megahertz(802);  // a little above its median
  EXPECT_GE(part(only_account(first, second), "clock").ratio->low, 1.0);
}

TEST(Account, BesideAPartOfUnknownEffectABoundStaysWhole) {
  auto [first, second] = without_fits(1.004);
  second.device.properties = {{"driver", "580.2"}};
  EXPECT_NEAR(part(only_account(first, second), "clock").ratio->high, 1.25, 0.01);
  for (RunRecord* record : {&first, &second})
    record->entries.push_back(test::entry_of("relu:count=2048", record->entries[0].result.measurements));
  const AccountTotal total = total_of(account_for(first, second)).value();
  const auto clock = std::ranges::find(total.parts, kClock, &TotalPart::name);
  ASSERT_NE(clock, total.parts.end());
  EXPECT_NEAR(clock->ratio->high, 1.25, 0.01);
}

TEST(Account, OfTwoBoundsNeitherVanishes) {
  auto [first, second] = without_fits(1.15);
  for (auto& [record, clock] : {std::pair(&first, 2600.0), {&second, 2000.0}}) {
    for (Round& round : record->entries[0].result.measurements[0].rounds)
      round.sensors.emplace().memory_clock = megahertz(clock);
  }
  const Account account = only_account(first, second);
  EXPECT_TRUE(account.is_explained());
  EXPECT_LT(account.rest.low, 0.9)
      << "both may have done all of it, so that a rest may have been against them";
  EXPECT_THAT(conclusions_of({account}).front(), AllOf(HasSubstr("clock accounts for up to +15"),
                                                       HasSubstr("memory clock accounts for up to +15")));
}

TEST(Account, ItsTableSaysThatEffectsMultiplyWhereThatIsSeen) {
  const Hertz fast = megahertz(1000), slow = megahertz(500);  // 1.6 times as long
  const RunRecord first = record_with({measured(time_at(fast), fast)});
  const auto table_of = [&](double more) {
    return accounts_section({only_account(first, record_with({measured(time_at(slow) * more, slow)}))}, {})
        .lines();
  };
  EXPECT_THAT(table_of(1.5), HasSubstr("Effects multiply"));
  EXPECT_THAT(accounts_section({only_account(first, first)}, {}).lines(), Not(HasSubstr("Effects multiply")));
}

TEST(Account, OtherProgramsOnTheCoreAreNotedAsCompareDoes) {
  const Hertz clock = megahertz(1000);
  const RunRecord first = record_with({measured(microseconds(100), clock)});
  RunRecord second = record_with({measured(microseconds(140), clock)});
  for (Round& round : second.entries[0].result.measurements[0].rounds) round.taken_by_others = round.time();
  EXPECT_THAT(notes_on(first, second, account_for(first, second)),
              testing::ElementsAre(testing::StartsWith(
                  "Other programs had the core of the second record for 50 % of the time: ")));
}

TEST(Account, WhatStaysIsSaid) {
  const Hertz clock = megahertz(1000);
  const Account account = only_account(record_with({measured(microseconds(100), clock)}),
                                       record_with({measured(microseconds(110), clock)}));
  EXPECT_FALSE(has_part(account, "clock"));
  EXPECT_FALSE(account.is_explained());
  EXPECT_NEAR(account.rest.ratio, 1.1, 0.001);
  EXPECT_THAT(conclusions_of({account}).front(), HasSubstr("stays unexplained"));
}

// compare names every condition that differs; so must this.
// A record of several processes, whose layers are called twice and once.
RunRecord network_of(double longer, std::uint64_t from) {
  std::vector<RunRecord> processes;
  for (std::uint64_t number = from; number < from + 6; ++number) {
    RunRecord process = test::process_of(number, {20.0 * longer, 30.0});
    for (std::size_t i = 0; i < process.entries.size(); ++i) {
      RunEntry& entry = process.entries[i];
      entry.result.subject = Operation::parse(i == 0 ? "add:count=1024" : "relu:count=1024");
      entry.layers = i == 0 ? std::vector<std::string>{"a", "b"} : std::vector<std::string>{"c"};
      entry.count = std::ssize(entry.layers);
    }
    processes.push_back(std::move(process));
  }
  return combine_processes(std::move(processes));
}

void expect_same(const RatioEstimate& a, const RatioEstimate& b) {
  EXPECT_DOUBLE_EQ(a.ratio, b.ratio);
  EXPECT_DOUBLE_EQ(a.low, b.low);
  EXPECT_DOUBLE_EQ(a.high, b.high);
}

// Two commands must not give two intervals for one pair of records.
void expect_as_compared(const RunRecord& first, const RunRecord& second) {
  ComparisonRecord compared = test::blank_comparison();
  compare_records(first, std::vector{second}, compared);
  const std::vector<Account> accounts = account_for(first, second);
  ASSERT_EQ(accounts.size(), compared.comparisons.size());
  for (std::size_t i = 0; i < accounts.size(); ++i) {
    SCOPED_TRACE(name_of(accounts[i]));
    expect_same(accounts[i].time, compared.comparisons[i].time);
    EXPECT_EQ(accounts[i].first.median, compared.comparisons[i].first.time.median);
    EXPECT_EQ(accounts[i].second.high, compared.comparisons[i].second.time.high);
    // What is not known of processes and of the instrument is in the interval already.
    EXPECT_NEAR(accounts[i].rest.high / accounts[i].rest.ratio,
                accounts[i].time.high / accounts[i].time.ratio, 1e-9);
  }
  const std::optional<AccountTotal> total = total_of(accounts);
  ASSERT_EQ(total.has_value(), !compared.totals.empty());
  if (!total) return;
  expect_same(total->time, compared.totals.front().time);
  EXPECT_EQ(total->first.low, compared.totals.front().first.low);
}

TEST(Account, ItsIntervalIsThatOfCompare) {
  const Hertz clock = megahertz(1000);
  RunRecord first = record_with({measured(microseconds(100), clock)}),
            second = record_with({measured(microseconds(104), clock)});
  for (RunRecord* record : {&first, &second}) {
    Measurement& own = record->entries[0].result.measurements[0];
    own.uncertainty = {.rounds = {}, .processes = own.time.median * 0.02, .instrument = {}};
    own.time.low = own.time.median * 0.98;
    own.time.high = own.time.median * 1.02;
  }
  expect_as_compared(first, second);
}

TEST(Account, OfSeveralProcessesItsIntervalIsThatOfCompareToo) {
  expect_as_compared(network_of(1.0, 1), network_of(1.04, 20));
}

TEST(Account, OnAHostItsIntervalIsThatOfCompareToo) {
  RunRecord first = network_of(1.0, 1), second = network_of(1.04, 20);
  first.device.capabilities.is_host = second.device.capabilities.is_host = true;
  expect_as_compared(first, second);
  EXPECT_THAT(notes_on(first, second, account_for(first, second)), testing::Contains(kLeastDisturbedNote));
}

TEST(Account, ConditionsThatNoPartLooksAtAreNamed) {
  const Hertz clock = megahertz(1000);
  Measurement second = measured(microseconds(110), clock);
  second.conditions.queue = QueueMode::eager;
  second.conditions.placement = 3;
  const Account account =
      only_account(record_with({measured(microseconds(100), clock)}), record_with({second}));
  EXPECT_EQ(part(account, "queue").first, "saturated");
  EXPECT_EQ(part(account, "queue").second, "eager");
  EXPECT_EQ(part(account, "placement").first, "not set");
  EXPECT_THAT(conclusions_of({account}).front(),
              HasSubstr("; it may come from queue (saturated, then eager) or placement."));
}

TEST(Account, PartsAndRestMakeTheWhole) {
  const Hertz fast = megahertz(1000), slow = megahertz(900);
  RunRecord second = record_with({measured(microseconds(130), slow, CacheState::cold)});
  const Account account = only_account(
      record_with({measured(microseconds(100), fast), measured(microseconds(120), fast, CacheState::dirty)}),
      second);
  double sum = std::log(account.rest.ratio);
  for (const AccountedPart& each : account.parts) {
    if (each.ratio) sum += std::log(each.ratio->ratio);
  }
  EXPECT_NEAR(sum, std::log(account.time.ratio), 1e-9);
}

TEST(Account, ACacheStateThatOneRecordTimedBothWaysIsAccountedFor) {
  const Hertz clock = megahertz(1000);
  const RunRecord both = record_with({measured(microseconds(100), clock, CacheState::warm),
                                      measured(microseconds(120), clock, CacheState::cold)});
  RunRecord second = record_with({measured(microseconds(121), clock, CacheState::dirty)});
  EXPECT_FALSE(part(only_account(both, second), "cache").ratio);
  EXPECT_THAT(part(only_account(both, second), "cache").experiment,
              HasSubstr("jitterscope compare add:count=1024"));
  // Both have it cold: nothing to account for.
  second = record_with({measured(microseconds(120), clock, CacheState::cold)});
  EXPECT_FALSE(has_part(only_account(both, second), "cache"));
}

TEST(Account, OfAnotherDeviceTheClockSaysNothing) {
  RunRecord first = record_with({measured(microseconds(100), megahertz(1000))}),
            second = record_with({measured(microseconds(300), megahertz(500))});
  second.device.name = "NVIDIA A100";
  const Account account = only_account(first, second);
  EXPECT_THAT(account.parts, testing::Each(testing::Field(&AccountedPart::name, testing::Ne("clock"))));
  EXPECT_EQ(part(account, "device").second, "NVIDIA A100");
  EXPECT_THAT(conclusions_of({account}).front(),
              HasSubstr("may come from another device (NVIDIA H200, then NVIDIA A100)"));
}

TEST(Account, AnotherEngineNamesTheExperiment) {
  RunRecord first = record_with({measured(microseconds(100), megahertz(1000))}), second = first;
  first.entries[0].result.algorithm = "engine 1";
  second.entries[0].result.algorithm = "engine 2";
  first.entries[0].result.kernels.resize(1);
  second.entries[0].result.kernels.resize(1);
  first.entries[0].result.kernels[0].name = "kernel_a";
  second.entries[0].result.kernels[0].name = "kernel_b";
  const Account account = only_account(first, second);
  EXPECT_THAT(part(account, "engine").experiment, HasSubstr("--vary engine="));
  EXPECT_EQ(part(account, "kernels").second, "kernel_b");
  EXPECT_THAT(conclusions_of({account}).back(), HasSubstr("What engine does: jitterscope compare"));
}

TEST(Account, AnotherEngineIsAccountedForWhereOneRecordTimedBoth) {
  const std::string convolution = "conv2d:n=1,c=8,hw=8,k=8,rs=3";
  const Hertz clock = megahertz(1000);
  RunRecord first =
      test::record_of({test::entry_of(convolution, {measured(microseconds(100), clock)}),
                       test::entry_of(convolution + ",engine=b", {measured(microseconds(90), clock)})});
  RunRecord second = test::record_of({test::entry_of(convolution, {measured(microseconds(90.1), clock)})});
  first.entries[0].result.algorithm = "a";
  first.entries[1].result.algorithm = second.entries[0].result.algorithm = "b";
  const Account forward = account_for(first, second).front();
  EXPECT_NEAR(part(forward, "engine").ratio->ratio, 0.9, 0.001);
  EXPECT_THAT(part(forward, "engine").experiment, IsEmpty());
  EXPECT_NEAR(forward.rest.ratio, 1.0, 0.003);
  const Account backward = account_for(second, first).front();
  EXPECT_NEAR(part(backward, "engine").ratio->ratio, 1.0 / 0.9, 0.001);
}

TEST(Account, OtherWorkIsNamed) {
  const RunRecord first = record_with({measured(microseconds(100), megahertz(1000))});
  RunRecord second =
      test::record_of({test::entry_of("relu:count=2048", {measured(microseconds(50), megahertz(900))})});
  second.device.name = first.device.name;
  const Account account = only_account(first, second);
  EXPECT_THAT(part(account, "operation").source, HasSubstr("not the same work"));
  EXPECT_THAT(part(account, "operation").experiment, IsEmpty());
  EXPECT_FALSE(has_part(account, "clock"));  // of one operation it says nothing of the other
}

RunRecord of_one(const std::string& operation, double microseconds_of_it) {
  RunRecord record = test::record_of(
      {test::entry_of(operation, {measured(microseconds(microseconds_of_it), megahertz(1000))})});
  record.device.name = "NVIDIA H200";
  return record;
}

std::string first_sentence(const RunRecord& first, const RunRecord& second) {
  return conclusions_of(account_for(first, second)).front();
}

TEST(UnlikeWork, OfMoreSamplesTheTimeOfOneIsSaid) {
  const std::string rest = ",c=64,hw=56,k=64,rs=3,pad=1";
  EXPECT_THAT(first_sentence(of_one("conv2d:n=2" + rest, 100), of_one("conv2d:n=3" + rest, 120)),
              AllOf(testing::StartsWith("**The work differs**: n 2, then 3 (1.5 times the samples)."),
                    HasSubstr("Per sample: -20.0 % in time ("), HasSubstr("), 49.998 µs, then 39.998 µs.")));
  const Account account = only_account(of_one("conv2d:n=2" + rest, 100), of_one("conv2d:n=3" + rest, 120));
  EXPECT_EQ(part(account, "operation").first, "n=2");
  EXPECT_EQ(part(account, "operation").second, "n=3");
}

TEST(UnlikeWork, OtherTypesAreNamed) {
  EXPECT_EQ(first_sentence(of_one("add:count=1024", 100), of_one("add:count=1024,dtype=f16", 60)),
            "**The work differs**: dtype f32, then f16.");
  EXPECT_EQ(first_sentence(of_one("add:count=1024", 100), of_one("relu:count=1024", 60)),
            "**The work differs**: add:count=1024,dtype=f32, then relu:count=1024,dtype=f32.");
  EXPECT_THAT(first_sentence(of_one("copy:bytes=1024", 100), of_one("copy:bytes=2048", 160)),
              Not(HasSubstr("sample")));
}

TEST(UnlikeWork, OfANetworkTheBatchIsSaid) {
  const auto network = [](int batch, double microseconds_of_all) {
    RunRecord record = test::record_of(
        {test::entry_of(fmt::format("conv2d:n={},c=8,hw=8,k=8,rs=3,pad=1", batch),
                        {measured(microseconds(0.9 * microseconds_of_all), megahertz(1000))}),
         test::entry_of(fmt::format("relu:count={}", batch * 512),
                        {measured(microseconds(0.05 * microseconds_of_all), megahertz(1000))}),
         test::entry_of(fmt::format("copy:bytes={}", batch * 2048),
                        {measured(microseconds(0.05 * microseconds_of_all), megahertz(1000))})});
    record.device.name = "NVIDIA H200";
    record.entries[0].layers = {"conv"};
    record.entries[1].layers = {"relu"};
    record.entries[2].layers = {"clone"};
    return record;
  };
  EXPECT_THAT(first_sentence(network(2, 100), network(3, 120)),
              AllOf(testing::StartsWith("**The work differs**: batch 2, then 3 (1.5 times the samples)."),
                    HasSubstr("Per sample: -20.0 % in time")));
  EXPECT_THAT(first_sentence(network(2, 100), network(2, 120)), Not(HasSubstr("The work differs")));
}

// A network of two operations: the first is called three times.
RunRecord network_of(Nanoseconds first, Nanoseconds second, Hertz clock) {
  RunRecord record = test::record_of({test::entry_of("add:count=1024", {measured(first, clock)}),
                                      test::entry_of("relu:count=2048", {measured(second, clock)})});
  record.device.name = "NVIDIA H200";
  record.entries[0].layers = {"l0", "l1", "l2"};
  record.entries[0].count = 3;
  record.entries[1].layers = {"head"};
  return record;
}

TEST(TotalAccount, SaysWhichOperationsMakeUpTheChange) {
  const Hertz clock = megahertz(1000);
  const std::vector<Account> accounts = account_for(network_of(microseconds(100), microseconds(200), clock),
                                                    network_of(microseconds(130), microseconds(210), clock));
  const AccountTotal total = total_of(accounts).value();
  EXPECT_EQ(total.calls, 4);
  // The medians are within 0.01 % of what was asked for.
  EXPECT_NEAR(total.first.median.value(), 500e3, 50.0);
  EXPECT_NEAR(total.second.median.value(), 600e3, 60.0);
  EXPECT_NEAR(total.time.ratio, 1.2, 1e-6);
  EXPECT_NEAR(change_of_all(accounts[0]).value(), 90e3, 10.0);
  EXPECT_TRUE(total.is_changed());
  EXPECT_FALSE(total.is_explained());
  const std::vector<std::string> sentences = conclusions_of(accounts);
  EXPECT_THAT(sentences.at(0), AllOf(HasSubstr("All 4 calls: +20.00 % in time (+19.97 to +20.03 %)"),
                                     HasSubstr("499.98 µs, then 599.97 µs"),
                                     HasSubstr("Of the change: l0 ×3 90 %, head 10 %.")));
  EXPECT_THAT(sentences.at(1), HasSubstr("stays unexplained"));
  EXPECT_FALSE(total_of({accounts[0]}));
}

TEST(TotalAccount, AddsUpWhatEachCauseDoes) {
  const Hertz fast = megahertz(1000), slow = megahertz(800);
  RunRecord first = network_of(time_at(fast), 2.0 * time_at(fast), fast),
            second = network_of(time_at(slow), 2.0 * time_at(slow), slow);
  for (RunRecord* record : {&first, &second}) {
    // The fit of a call twice as long has the same share.
    record->entries[1].result.measurements[0].at_reference_clock->clock_share =
        record->entries[0].result.measurements[0].at_reference_clock->clock_share;
  }
  second.entries[0].result.algorithm = "engine 2";
  second.device.properties = {{"driver", "580.2"}};
  const AccountTotal total = total_of(account_for(first, second)).value();
  const auto found = [&](const std::string& name) {
    return std::ranges::find(total.parts, name, &TotalPart::name);
  };
  ASSERT_NE(found("clock"), total.parts.end());
  EXPECT_EQ(found("clock")->operations, 2u);
  EXPECT_EQ(found("clock")->second, "800 MHz");
  EXPECT_NEAR(found("clock")->ratio->ratio, 1.15, 0.03);
  EXPECT_EQ(found("engine")->operations, 1u);
  EXPECT_FALSE(found("engine")->ratio);
  // 3 calls of 100 us that take 15 us longer each.
  EXPECT_NEAR(found("engine")->change.value(), 45e3, 10.0);
  EXPECT_TRUE(total.is_explained());
  double sum = std::log(total.rest.ratio);
  for (const TotalPart& part : total.parts) sum += part.ratio ? std::log(part.ratio->ratio) : 0.0;
  EXPECT_NEAR(sum, std::log(total.time.ratio), 1e-9);
  const std::string causes = conclusions_of(account_for(first, second)).at(1);
  EXPECT_THAT(causes, AllOf(HasSubstr("clock accounts for +1"), HasSubstr("(1000 MHz, then 800 MHz)"),
                            HasSubstr("Also different: driver (none, then 580.2)"),
                            HasSubstr("in 1 of 2 operations, 60 % of the change")));
}

TEST(TotalAccount, PowerAndHeatActByTheClock) {
  const Hertz fast = megahertz(1000), slow = megahertz(800);
  RunRecord first = record_with({measured(time_at(fast), fast)}),
            second = record_with({measured(time_at(slow), slow)});
  const auto feel = [](RunRecord& record, double watts, double celsius) {
    for (Round& round : record.entries[0].result.measurements[0].rounds) {
      round.sensors.emplace().power = Watts(watts);
      round.sensors->temperature = Celsius(celsius);
    }
  };
  feel(first, 400, 45);
  feel(second, 698, 71);
  const Account account = only_account(first, second);
  EXPECT_EQ(part(account, "power").second, "698 W");
  EXPECT_EQ(part(account, "temperature").first, "45 °C");
  EXPECT_THAT(conclusions_of({account}).front(), Not(HasSubstr("power")));
  second.entries[0].result.measurements[0].rounds.back().sensors->clock_reasons = {"power_cap"};
  EXPECT_TRUE(has_part(only_account(first, second), "power"));
  for (RunRecord* record : {&first, &second}) {
    for (Round& round : record->entries[0].result.measurements[0].rounds)
      round.sensors->clock_reasons = {"idle"};
  }
  EXPECT_FALSE(has_part(only_account(first, second), "power")) << "nothing held the clock down by it";
  EXPECT_FALSE(has_part(only_account(first, second), "temperature"));
  feel(second, 405, 47);  // as within one run
  EXPECT_FALSE(has_part(only_account(first, second), "power"));
  EXPECT_FALSE(has_part(only_account(first, second), "temperature"));
}

TEST(TotalAccount, WhereTheWorkDiffersNothingElseHasAShare) {
  const Hertz fast = megahertz(1000), slow = megahertz(999.9);
  RunRecord first = network_of(microseconds(100), microseconds(200), fast),
            second = network_of(microseconds(150), microseconds(200), slow);
  second.entries[0].result.subject = Operation::parse("add:count=1024,dtype=f16");
  const auto feel = [](RunRecord& record, double watts) {
    for (RunEntry& entry : record.entries) {
      for (Round& round : entry.result.measurements[0].rounds) round.sensors.emplace().power = Watts(watts);
    }
  };
  feel(first, 269);
  feel(second, 294);
  second.entries[1].result.algorithm = "engine 2";
  const std::string causes = conclusions_of(account_for(first, second)).at(2);
  EXPECT_THAT(causes, AllOf(Not(HasSubstr("power")), HasSubstr("in 1 of 2 operations, 100 % of the change"),
                            HasSubstr("cudnn engine 2; in 1 of 2 operations)")))
      << "the clock did not change, so that power did nothing, and the engine's operation did not either";
}

TEST(TotalAccount, ThePartsEndsAddUp) {
  const Hertz fast = megahertz(1000), slow = megahertz(800);
  RunRecord first = network_of(time_at(fast), 2.0 * time_at(fast), fast),
            second = network_of(time_at(slow), 2.0 * time_at(slow), slow);
  for (RunRecord* record : {&first, &second}) {
    for (RunEntry& entry : record->entries) entry.result.measurements[0].at_reference_clock.reset();
  }
  const AccountTotal total = total_of(account_for(first, second)).value();
  const auto clock = std::ranges::find(total.parts, kClock, &TotalPart::name);
  ASSERT_NE(clock, total.parts.end());
  EXPECT_NEAR(clock->ratio->low, 1.0, 1e-9) << "of each, so of all";
  EXPECT_NEAR(clock->ratio->high, total.time.high, 1e-3) << "no more than what changed";
  EXPECT_TRUE(total.is_explained());
}

TEST(Account, AMemoryClockThatDiffersIsBoundedAndAPowerLimitActsByTheClock) {
  const Hertz fast = megahertz(1000), slow = megahertz(800);
  RunRecord first = record_with({measured(time_at(fast), fast)}),
            second = record_with({measured(time_at(slow), slow)});
  for (auto& [record, clock] : {std::pair(&first, 2600.0), {&second, 2000.0}}) {
    for (Round& round : record->entries[0].result.measurements[0].rounds)
      round.sensors.emplace().memory_clock = megahertz(clock);
  }
  first.device.power_limit = Watts(700);
  second.device.power_limit = Watts(350);
  const Account account = only_account(first, second);
  EXPECT_NEAR(part(account, "memory clock").ratio->low, 1.0, 1e-9);
  EXPECT_GT(part(account, "memory clock").ratio->high, 1.001);
  EXPECT_LT(part(account, "memory clock").ratio->high, 1.08) << "what the clock leaves, and not 1.3";
  EXPECT_EQ(part(account, "power limit").source, kByTheClock);
  EXPECT_THAT(conclusions_of({account}).front(),
              AllOf(HasSubstr("by power limit 700 W, then 350 W"), Not(HasSubstr("may come"))));
}

TEST(TotalAccount, CallsWithoutAPartnerAreCounted) {
  const Hertz clock = megahertz(1000);
  RunRecord first = network_of(microseconds(100), microseconds(200), clock), second = first;
  second.entries[0].count = 2;
  second.entries[0].layers.resize(2);
  const std::vector<Account> accounts = account_for(first, second);
  EXPECT_EQ(accounts[0].count, 2);
  EXPECT_THAT(notes_on(first, second, accounts),
              testing::ElementsAre(HasSubstr("1 of 4 calls of the first record have no partner")));
  const std::vector<std::string> sentences =
      conclusions_of(accounts, compared_calls(first, second, accounts));
  EXPECT_THAT(sentences.at(0), testing::StartsWith("The 3 calls that both have (of 4, then 3): "));
  EXPECT_THAT(sentences.at(1), testing::StartsWith("l0, warm")) << "of no change no cause is named";
  const std::vector<Account> whole = account_for(first, first);
  EXPECT_THAT(conclusions_of(whole, compared_calls(first, first, whole)).at(0),
              testing::StartsWith("All 4 calls: "));
}

// A layer's name in two networks says nothing: `head` is another operation in each.
TEST(TotalAccount, OfDifferentNetworksOnlyEqualOperationsAreAccountedFor) {
  const Hertz clock = megahertz(1000);
  RunRecord first = network_of(microseconds(100), microseconds(200), clock),
            other = test::record_of({test::entry_of("add:count=1024", {measured(microseconds(90), clock)}),
                                     test::entry_of("relu:count=4096", {measured(microseconds(1), clock)})});
  other.device.name = "NVIDIA H200";
  other.entries[0].layers = {"stem"};
  other.entries[1].layers = {"head"};
  EXPECT_EQ(account_for(first, other).size(), 2u);
  const std::vector<Account> equal = account_for_equal_work(first, other);
  ASSERT_EQ(equal.size(), 1u);
  EXPECT_EQ(equal[0].first_subject, equal[0].second_subject);
  EXPECT_EQ(equal[0].count, 1);
  other.entries.erase(other.entries.begin());
  EXPECT_TRUE(account_for_equal_work(first, other).empty());
}

TEST(Account, NothingInCommonIsRefused) {
  EXPECT_THROW(account_for(RunRecord(), record_with({measured(microseconds(1), megahertz(1000))})),
               UsageError);
  EXPECT_THROW(account_for(record_with({}), record_with({})), UsageError);
}

}  // namespace
}  // namespace jitterscope::explain
