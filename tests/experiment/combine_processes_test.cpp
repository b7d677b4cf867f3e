// Several processes as one record.
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>

#include "experiment/processes.hpp"
#include "experiment/simulated_processes.hpp"
#include "measure/estimate.hpp"
#include "statistics/statistics.hpp"

namespace jitterscope {
namespace {

using test::entry_of;
using test::failed_entry;
using test::record_of;
using test::timed;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

constexpr const char* kAdd = "add:count=1024";

RunRecord process_with(double microseconds) {
  return record_of({entry_of(kAdd, {timed(std::vector(8, microseconds))})});
}

const Measurement& first_measurement(const RunRecord& record) {
  return record.entries.at(0).result.measurements.at(0);
}

TEST(CombineProcesses, TheUnitIsTheProcess) {
  const RunRecord all = combine_processes({process_with(20), process_with(21), process_with(22)});
  const Measurement& measurement = first_measurement(all);
  // Mean 21, standard deviation 1, Student's 4.303 for two degrees of freedom.
  EXPECT_DOUBLE_EQ(measurement.time.median.value(), 21e3);
  EXPECT_NEAR((measurement.time.high - measurement.time.low).value() / 2.0, 4.3027 * 1e3 / std::sqrt(3.0),
              1.0);
  EXPECT_EQ(measurement.time.rounds, 24);
  ASSERT_THAT(measurement.processes, SizeIs(3));
  EXPECT_DOUBLE_EQ(measurement.processes[2].median.value(), 22e3);
  EXPECT_DOUBLE_EQ(measurement.processes[2].clock.value().value(), test::kClock);
  EXPECT_TRUE(measurement.processes[2].cycles.has_value());
  EXPECT_NEAR(measurement.process_variation.placed, 1.0 / 21.0, 1e-12);
  EXPECT_EQ(measurement.process_variation.degrees_of_freedom, 2);
  EXPECT_NEAR(measurement.uncertainty.processes.value(),
              (measurement.time.high - measurement.time.low).value() / 2.0, 1e-9);
  EXPECT_EQ(measurement.uncertainty.rounds, Nanoseconds(0));
  // What one process would read again.
  EXPECT_DOUBLE_EQ(measurement.repeatability.median.value(), 20e3);
  EXPECT_EQ(measurement.duration, milliseconds(1200));
}

TEST(CombineProcesses, RoundsSayWhoseTheyAre) {
  const RunRecord all = combine_processes({process_with(20), process_with(21)});
  std::vector<std::int64_t> processes;
  for (const Round& round : first_measurement(all).rounds) processes.push_back(round.process);
  ASSERT_THAT(processes, SizeIs(16));
  EXPECT_EQ(std::ranges::count(processes, 0), 8);
  EXPECT_EQ(processes.back(), 1);
  EXPECT_EQ(first_measurement(all).launches.values, 16);
}

TEST(CombineProcesses, OneAloneStaysAsItIs) {
  RunRecord one = process_with(20);
  one.interrupted = true;
  const RunRecord all = combine_processes({one});
  EXPECT_THAT(first_measurement(all).processes, IsEmpty());
  EXPECT_EQ(first_measurement(all).time.high, first_measurement(one).time.high);
  EXPECT_TRUE(all.interrupted);
}

TEST(CombineProcesses, TheOthersSpeakForOneInWhichAnOperationFailed) {
  for (const std::size_t place : {0u, 1u, 2u}) {
    std::vector<RunRecord> processes = {process_with(20), process_with(21), process_with(22)};
    processes[place] = record_of({failed_entry(kAdd, "out of memory")});
    const RunRecord all = combine_processes(processes);
    EXPECT_EQ(all.entries.at(0).result.failure, "");
    EXPECT_THAT(first_measurement(all).processes, SizeIs(2)) << place;
  }
}

TEST(CombineProcesses, WhatFailedInAllHasItsReason) {
  const RunRecord failed =
      record_of({failed_entry(kAdd, "out of memory"), entry_of("add:count=2", {timed({1, 1})})});
  const RunRecord all = combine_processes({failed, failed});
  ASSERT_THAT(all.entries, SizeIs(2));
  EXPECT_EQ(all.entries[0].result.failure, "out of memory");
  EXPECT_THAT(all.entries[0].result.measurements, IsEmpty());
  EXPECT_THAT(all.entries[1].result.measurements.at(0).processes, SizeIs(2));
}

TEST(CombineProcesses, OneThatWasInterruptedAddsWhatItHas) {
  const auto process = [](bool is_whole) {
    RunRecord record = record_of(
        {entry_of(kAdd, {timed(std::vector(8, 20.0)), timed(std::vector(8, 30.0), CacheState::cold)}),
         entry_of("add:count=2", {timed(std::vector(8, 40.0))})});
    if (is_whole) return record;
    record.entries.pop_back();
    record.entries[0].result.measurements.erase(record.entries[0].result.measurements.begin());
    record.interrupted = true;
    return record;
  };
  for (const bool first_is_whole : {true, false}) {
    const RunRecord all =
        combine_processes({process(first_is_whole), process(!first_is_whole), process(true)});
    EXPECT_TRUE(all.interrupted);
    ASSERT_THAT(all.entries, SizeIs(2));
    const Measurement* warm = measurement_of(all.entries[0].result, Load::burst, CacheState::warm);
    const Measurement* cold = measurement_of(all.entries[0].result, Load::burst, CacheState::cold);
    ASSERT_TRUE(warm != nullptr && cold != nullptr) << first_is_whole;
    EXPECT_THAT(warm->processes, SizeIs(2));
    EXPECT_THAT(cold->processes, SizeIs(3));
    EXPECT_EQ(warm, &all.entries[0].result.measurements[0]);
    EXPECT_THAT(all.entries[1].result.measurements.at(0).processes, SizeIs(2));
  }
}

TEST(CombineProcesses, AFindingStaysThatHalfOfThemHave) {
  std::vector<RunRecord> processes(4, process_with(20));
  const auto add = [&](std::size_t process, const std::string& id) {
    processes[process].entries[0].result.findings.push_back(
        {.id = id, .sentence = {}, .remedy = {}, .evidence = {}});
  };
  for (const std::size_t process : {1u, 2u}) add(process, "bimodal");
  add(3, "power_cap");
  for (const std::size_t process : {0u, 1u, 2u, 3u}) add(process, "imprecise");
  const RunRecord all = combine_processes(processes);
  std::vector<std::string> ids;
  for (const Finding& finding : all.entries[0].result.findings) ids.push_back(finding.id);
  // An interval over processes is what "imprecise" of each own process knows nothing of.
  EXPECT_THAT(ids, ElementsAre("bimodal"));
}

TEST(CombineProcesses, PlacesMoveWithTheirRounds) {
  std::vector<RunRecord> processes(3, process_with(20));
  const auto add = [&](std::size_t process, const FindingPlace& place) {
    processes[process].entries[0].result.findings.push_back(
        {.id = "thermal", .sentence = {}, .remedy = {}, .evidence = {}, .places = {place}});
  };
  const std::size_t rounds = processes[0].entries[0].result.measurements[0].rounds.size();
  add(0, {0, {{1, 2}}});
  add(2, {0, {{0, 3}, {5, rounds + 5}}});
  const RunRecord all = combine_processes(processes);
  ASSERT_THAT(all.entries[0].result.findings, SizeIs(1));
  EXPECT_THAT(all.entries[0].result.findings[0].places,
              ElementsAre(FindingPlace{0, {{1, 2}, {2 * rounds, 2 * rounds + 3}}}));
}

TEST(CombineProcesses, AWrongResultInOneIsNotLost) {
  std::vector<RunRecord> processes(3, process_with(20));
  for (RunRecord& process : processes) process.entries[0].result.verification = Verification{.passed = true};
  processes[1].entries[0].result.verification = Verification{.relative_error = 0.5, .passed = false};
  const RunRecord all = combine_processes(processes);
  ASSERT_TRUE(all.entries[0].result.verification);
  EXPECT_FALSE(all.entries[0].result.verification->passed);
  EXPECT_EQ(all.entries[0].result.verification->relative_error, 0.5);
}

TEST(CombineProcesses, ASustainedLoadCountsFromWhereItSettled) {
  const auto process = [](double settled, Steadiness::Verdict verdict) {
    std::vector<double> times(5, 50.0);
    times.resize(15, settled);
    Measurement measurement = timed(times, CacheState::warm, Hertz(test::kClock), Load::sustained);
    measurement.steadiness = Steadiness{verdict, seconds(1), milliseconds(1), 5};
    summarise(measurement, 5);
    return record_of({entry_of(kAdd, {measurement})});
  };
  using enum Steadiness::Verdict;
  const RunRecord all = combine_processes({process(20, steady), process(21, steady)});
  EXPECT_DOUBLE_EQ(first_measurement(all).time.median.value(), 20.5e3);
  EXPECT_THAT(first_measurement(all).rounds, SizeIs(20));
  EXPECT_DOUBLE_EQ(first_measurement(all).launches.maximum.value(), 21e3);
  EXPECT_EQ(first_measurement(all).steadiness->settled_round, 0u);
  const RunRecord open = combine_processes({process(20, steady), process(21, never_steady)});
  EXPECT_EQ(first_measurement(open).steadiness->verdict, never_steady);
}

TEST(CombineProcesses, AMissedPrecisionIsSaid) {
  std::vector<RunRecord> processes(3, process_with(20));
  processes[1].entries[0].result.measurements[0].stop_reason = StopReason::time_limit;
  EXPECT_EQ(first_measurement(combine_processes(processes)).stop_reason, StopReason::time_limit);
}

TEST(EstimateOverProcesses, ASingleProcessHasNoInterval) {
  const std::vector<ProcessTime> one = {{microseconds(20), {}, {}}};
  const TimeEstimate estimate = estimate_over_processes(one, 10);
  EXPECT_DOUBLE_EQ(estimate.median.value(), 20e3);
  EXPECT_FALSE(std::isfinite(estimate.precision()));
}

}  // namespace
}  // namespace jitterscope
