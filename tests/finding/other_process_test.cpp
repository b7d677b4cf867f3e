#include <gmock/gmock.h>

#include "finding/simulated.hpp"
#include "worker/fresh_processes.hpp"

namespace jitterscope {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

std::vector<Finding> with_processes(std::optional<std::vector<std::string>> processes, bool on_gpu = true) {
  FindingContext context = simulated::context(on_gpu);
  context.other_processes = std::move(processes);
  return machine_findings(context);
}

TEST(OtherProcess, NamesThem) {
  const auto findings = with_processes({{"4711 python3", "4712 train"}});
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].id, "other_process");
  EXPECT_THAT(findings[0].sentence,
              HasSubstr("2 other processes make use of cuda:0: 4711 python3, 4712 train."));
  EXPECT_EQ(simulated::evidence_number(findings[0], "processes"), 2);
}

TEST(OtherProcess, NobodyOrUnknownOrACpuIsNone) {
  EXPECT_THAT(with_processes(std::vector<std::string>{}), IsEmpty());
  EXPECT_THAT(with_processes(std::nullopt), IsEmpty());
  EXPECT_THAT(with_processes({{"4711 python3"}}, false), IsEmpty());
}

Measurement slopes(double time, double taken, Instrument instrument = Instrument::graph) {
  Measurement measurement = simulated::measure({.time = microseconds(time)}, 1);
  measurement.instrument = instrument;
  measurement.constant.uncertainty = microseconds(0.1);
  for (std::size_t i = 0; i < 3; ++i) measurement.rounds[4].launches[i] = microseconds(taken);
  for (Nanoseconds& slope : measurement.rounds[9].launches) slope = microseconds(taken);
  return measurement;
}

std::vector<Finding> taken(const Measurement& measurement) {
  return simulated::with_id(find_all(simulated::result_of({measurement}), simulated::context()),
                            "other_process");
}

TEST(OtherProcess, SlopesBelowZeroAreCounted) {
  const auto findings = taken(slopes(5, -20));
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_THAT(findings[0].sentence,
              HasSubstr("23 of 500 slopes between two recordings are below zero, down to "
                        "-20.0 µs (warm, burst)"));
  EXPECT_THAT(findings[0].sentence, HasSubstr("1 round is below zero even in its median."));
  EXPECT_EQ(simulated::evidence_number(findings[0], "negative_slopes"), 23);
  EXPECT_EQ(simulated::evidence_number(findings[0], "negative_rounds"), 1);
  ASSERT_THAT(findings[0].places, SizeIs(1));
  EXPECT_THAT(findings[0].places[0].rounds, SizeIs(2));
}

// Its slices of 2 ms fall into short recordings of some rounds.
TEST(OtherProcess, OnASharedDeviceNoTimeIsBelowZero) {
  WorkerPlan plan{.device = "virtual:h200", .device_seed = 2, .plan = {}};
  MeasureOptions options;
  options.caches = {CacheState::warm};
  options.loads = {Load::burst};
  options.seed = 2;
  plan.plan.groups = {
      {{Operation::parse("conv2d:n=8,c=64,hw=56,k=64,rs=3,pad=1,dtype=f16,layout=nhwc"), options}}};
  const auto carried_out = [&] {
    return carry_out(plan, {[](auto&&...) {}, [] { return false; }}).entries.at(0).result;
  };
  const double alone = carried_out().measurements.at(0).time.median.value();
  plan.device = "virtual:shared";
  const Result result = carried_out();
  const Measurement& measurement = result.measurements.at(0);
  const auto found = simulated::with_id(result.findings, "other_process");
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_GT(simulated::evidence_number(found[0], "negative_slopes"), 10);
  EXPECT_GT(measurement.launches.minimum, Nanoseconds(0));
  EXPECT_NEAR(measurement.time.median.value(), alone, 0.02 * alone);  // its traffic costs a percent
  for (const Mode& mode : measurement.modes) EXPECT_GT(mode.location, Nanoseconds(0));
  for (const Finding& bimodal : simulated::with_id(result.findings, "bimodal")) {
    EXPECT_THAT(bimodal.sentence, Not(HasSubstr("-")));
  }
}

TEST(OtherProcess, WhatTheInstrumentMayBeOffByIsNoneOfIts) {
  EXPECT_THAT(taken(slopes(0.2, -0.9)), IsEmpty());
  EXPECT_THAT(taken(slopes(5, -20, Instrument::events)), IsEmpty());
}

// 50 rounds of which others had the core a third of the time.
TEST(CoreTaken, SaysHowMuchOfTheTime) {
  Measurement measurement = simulated::measure({.time = microseconds(10)}, 1);
  const auto found = [&] {
    return simulated::with_id(find_all(simulated::result_of({measurement}), simulated::context(false)),
                              "core_taken");
  };
  EXPECT_THAT(found(), IsEmpty());
  const auto take = [&](double share) {
    for (Round& round : measurement.rounds) {
      Nanoseconds worked;
      for (const Nanoseconds launch : round.launches)
        worked += launch * static_cast<double>(round.launches_per_value);
      round.taken_by_others = worked * share;
    }
  };
  take(0.01);
  EXPECT_THAT(found(), IsEmpty());
  take(0.5);
  ASSERT_THAT(found(), SizeIs(1));
  EXPECT_THAT(found()[0].sentence, HasSubstr("Other programs had this thread's core for 33"));
}

}  // namespace
}  // namespace jitterscope
