// Whole studies on simulated GPUs whose truth is known.
#include "explain/explain.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "device/virtual/virtual_device.hpp"
#include "explain/conclusions.hpp"
#include "physics/preset.hpp"

namespace jitterscope::explain {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

Operation convolution() {
  return Operation::parse("conv2d:n=256,c=64,hw=56,k=64,rs=3,pad=1,dtype=f16,layout=nhwc");
}

Explanation study(const physics::Parameters& gpu, const Operation& operation, const ExplainOptions& options) {
  const auto device = virtual_gpu::make_virtual_device(gpu, options.seed);
  Session session(*device);
  return explain(session, operation, options);
}

ExplainOptions quick(std::vector<std::string> factors = {}) {
  return {.factors = std::move(factors), .time_limit = seconds(30)};
}

const FactorResult& factor(const Explanation& explanation, const std::string& id) {
  return *std::ranges::find(explanation.factors, id, &FactorResult::id);
}

TEST(Explain, AClockThatSleepsIsACauseNamedFirst) {
  const Explanation found =
      study(physics::find_preset("laptop"), convolution(), quick({"idle", "data", "queue"}));
  EXPECT_EQ(found.factors.front().id, "idle");
  EXPECT_EQ(found.factors.front().verdict, FactorVerdict::cause);
  EXPECT_GT(found.factors.front().doses.back().time.low, 1.1);
  // Behind what was seen.
  EXPECT_THAT(conclusions_of(found),
              testing::ElementsAre(HasSubstr("In loops, each after a rest, the time varies by"),
                                   HasSubstr("An idle before the loop"), testing::_));
}

TEST(Explain, WithoutTheMechanismItIsCleared) {
  const physics::Parameters gpu = physics::find_preset("laptop").without(physics::Mechanism::idle_ramp);
  const Explanation found = study(gpu, convolution(), {.factors = {"idle"}, .time_limit = seconds(60)});
  EXPECT_EQ(factor(found, "idle").verdict, FactorVerdict::cleared);
}

TEST(Explain, TheEffectOfAKnownDelayIsFound) {
  const Operation spin(Spin{.amount = 10'000});  // 10 us: the host needs about as long to launch
  ExplainOptions options = quick({"host_delay"});
  const Explanation found = study(physics::find_preset("quiet"), spin, options);
  const FactorResult& delay = factor(found, "host_delay");
  EXPECT_EQ(delay.verdict, FactorVerdict::cause);
  // The slowest dose, 20 us, stands within the events: more than half of it is seen beyond the kernel's time.
  EXPECT_GT(delay.doses.back().time.ratio, 1.5);
  EXPECT_LE(delay.doses.front().time.ratio, delay.doses.back().time.ratio);
}

TEST(Explain, EveryStepLeavesItsNumbers) {
  const Explanation found = study(physics::find_preset("h200"), convolution(), {.time_limit = seconds(120)});
  EXPECT_GE(found.observation.loops.size(), 4u);
  EXPECT_GT(found.screening_rounds, 16);
  EXPECT_GE(found.blocks, 6);
  ASSERT_EQ(found.dummies.size(), 2u);
  for (const DummyEffect& dummy : found.dummies) {
    ASSERT_TRUE(dummy.screened && dummy.paired);
    EXPECT_NEAR(dummy.paired->ratio, 1.0, 0.01);
  }
  EXPECT_EQ(factor(found, "engine").verdict, FactorVerdict::not_identifiable);
  EXPECT_THAT(factor(found, "engine").reason, HasSubstr("nothing to choose"));
  EXPECT_TRUE(factor(found, "cache").screened);
  ASSERT_FALSE(found.random_factors.empty());
  EXPECT_EQ(found.random_factors.front().id, "placement");
}

TEST(Explain, WhatMakesItFasterIsTakenAwayAllAtOnce) {
  const Explanation found =
      study(physics::find_preset("h200"), convolution(), quick({"data", "instrument", "contention_memory"}));
  ASSERT_TRUE(found.plain);
  EXPECT_LT(found.plain->low, found.plain->high);
  ASSERT_TRUE(found.fastest);
  double alone = 1.0;
  for (const FastestLoop::Part& part : found.fastest->parts) {
    const FactorResult& taken = factor(found, part.factor);
    EXPECT_EQ(taken.verdict, FactorVerdict::cause);
    const auto dose = std::ranges::find(taken.doses, part.dose, &DoseEffect::dose);
    ASSERT_NE(dose, taken.doses.end());
    EXPECT_LT(dose->time.high, 1.0);
    alone = std::min(alone, dose->time.ratio);
  }
  EXPECT_EQ(found.fastest->parts.size(), 2u) << "copies beside it make nothing faster";
  EXPECT_GE(found.fastest->blocks, 6);
  EXPECT_LT(found.fastest->time.high, alone) << "both together do more than either";
}

TEST(Explain, WhereNothingMakesItFasterTheFastestIsThePlainLoop) {
  const Operation spin(Spin{.amount = 10'000});
  const Explanation found = study(physics::find_preset("quiet"), spin, quick({"host_delay"}));
  EXPECT_FALSE(found.fastest);
  ASSERT_TRUE(found.plain);
  EXPECT_GE(found.plain->rounds, 6);
}

TEST(Explain, TheDeviceTellsThePowerCapFromHeat) {
  const Explanation found = study(physics::find_preset("h200"), convolution(), quick({"load", "data"}));
  const FactorResult& load = factor(found, "load");
  ASSERT_EQ(load.verdict, FactorVerdict::cause);
  ASSERT_TRUE(load.held_clock);
  EXPECT_GT(load.held_clock->by_power, 0.1);
  EXPECT_EQ(load.held_clock->by_heat, 0.0);
  EXPECT_THAT(load.not_told_from, IsEmpty());
  EXPECT_FALSE(load.held_clock->is_plain);
  ASSERT_TRUE(
      factor(found, "data").held_clock);  // zeros take less power, so that it is the plain loop that is held
  EXPECT_TRUE(factor(found, "data").held_clock->is_plain);
}

TEST(Explain, RestsTellAnAverageOfPowerFromALimitThatActsAtOnce) {
  const Operation product = Operation::parse("matmul:m=8192,n=8192,k=8192,dtype=f16");
  const auto sentence_on = [&](const physics::Parameters& gpu, double at_low_duty) {
    const Explanation found = study(gpu, product, quick({"data"}));
    const FactorResult& data = factor(found, "data");
    EXPECT_EQ(data.verdict, FactorVerdict::cause);
    EXPECT_LT(data.doses[data.strongest].time.ratio, 0.95);
    EXPECT_NEAR(data.at_low_duty.value().time.ratio, at_low_duty, 0.01);
    return conclusions_of(found).at(1);
  };
  const physics::Parameters h200 = physics::find_preset("h200");
  EXPECT_THAT(sentence_on(h200, 0.89), HasSubstr("a limit of power that acts at once makes it"));
  physics::Parameters averaged = h200.without(physics::Mechanism::peak_power);
  averaged.power.cap = Watts(250);
  averaged.power.averaging_time = milliseconds(20);
  averaged.power.cap_onset = milliseconds(1);
  averaged.governor.control_period = milliseconds(2);  // the clock is back where it was within a few rests
  EXPECT_THAT(sentence_on(averaged, 1.0), HasSubstr("power makes it, and not the arithmetic"));
}

TEST(Explain, ValuesThatToggleFewerBitsTakeLessPowerDoseByDose) {
  const Operation product = Operation::parse("matmul:m=8192,n=8192,k=8192,dtype=f16");
  const Explanation found =
      study(physics::find_preset("h200"), product, {.factors = {"data"}, .time_limit = seconds(120)});
  const FactorResult& data = factor(found, "data");
  ASSERT_EQ(data.verdict, FactorVerdict::cause);
  ASSERT_EQ(data.doses.size(), 3u);
  EXPECT_LT(data.doses[0].time.ratio, 1.0);
  EXPECT_LT(data.doses[1].time.high, data.doses[0].time.low);
  EXPECT_LT(data.doses[2].time.high, data.doses[1].time.low);
  EXPECT_GT(data.doses[2].clock->ratio, data.doses[1].clock->ratio);
}

TEST(Explain, AFragmentedHeapIsClearedWhereAddressesDoNotMatter) {
  const Explanation found = study(physics::find_preset("h200"), convolution(),
                                  {.factors = {"heap", "row_stride"}, .time_limit = seconds(60)});
  EXPECT_EQ(factor(found, "heap").verdict, FactorVerdict::cleared);
  EXPECT_EQ(factor(found, "heap").doses.size(), 3u);
  EXPECT_EQ(factor(found, "row_stride").verdict, FactorVerdict::not_identifiable);
}

TEST(Explain, WhereNothingHeldTheClockPowerAndHeatStandTogether) {
  const physics::Parameters gpu = physics::find_preset("laptop").without(physics::Mechanism::power_cap);
  const Explanation found = study(gpu, convolution(), quick({"load", "idle"}));
  EXPECT_FALSE(factor(found, "load").not_told_from.empty());
}

TEST(Explain, AStrangerWhoComesAndGoesIsNamed) {
  const Operation copy = Operation::parse("copy:bytes=256Mi");
  const Explanation shared = study(physics::find_preset("shared"), copy, quick({"cache"}));
  ASSERT_EQ(shared.others.seen.size(), 1u);
  EXPECT_GT(shared.others.seen.front().looks, 0);
  EXPECT_LT(shared.others.seen.front().looks, shared.others.looks);
  EXPECT_THAT(conclusions_of(shared), testing::Contains(HasSubstr("came and went")));
  const Explanation alone = study(physics::find_preset("quiet"), copy, quick({"cache"}));
  EXPECT_THAT(alone.others.seen, IsEmpty());
  EXPECT_GT(alone.others.looks, 10);
  EXPECT_THAT(conclusions_of(alone), testing::Not(testing::Contains(HasSubstr("Other programs"))));
}

TEST(Explain, GpusOfOneMachineDifferByASpread) {
  ExplainOptions options{.time_limit = seconds(60)};
  options.gpus = 2;
  options.measure_on_each_gpu = [] {
    std::vector<ProcessTime> times(2);
    times[0].time.median = microseconds(100);
    times[1].time.median = microseconds(103);
    return times;
  };
  const Explanation found = study(physics::find_preset("quiet"), Operation(Spin{.amount = 10'000}), options);
  const auto gpu = std::ranges::find(found.random_factors, "gpu", &RandomFactor::id);
  ASSERT_NE(gpu, found.random_factors.end());
  EXPECT_EQ(gpu->levels, 2);
  EXPECT_NEAR(gpu->deviation, std::log(1.03) / std::sqrt(2.0), 1e-9);
  EXPECT_LT(gpu->low, gpu->deviation);
  EXPECT_GT(gpu->high, 10.0 * gpu->deviation);  // of two GPUs little is known
  options.gpus = 8;
  const Explanation without =
      study(physics::find_preset("quiet"), Operation(Spin{.amount = 10'000}), options);
  EXPECT_THAT(without.random_factors.back().not_available, HasSubstr("a fresh process on each GPU"));
}

TEST(Explain, SharesOfTheVariationAddUp) {
  const Explanation found = study(physics::find_preset("laptop"), convolution(), quick({"idle"}));
  double sum = 0.0;
  for (const VariationShare& share : found.observation.shares) {
    sum += share.share;
    EXPECT_LE(share.low, share.share);
    EXPECT_GE(share.high, share.share);
  }
  EXPECT_NEAR(sum, 1.0, 1e-9);
  // The clock of the laptop rises from loop to loop and within each.
  EXPECT_EQ(found.observation.shares[2].variation, Variation::clock);
  EXPECT_GT(found.observation.shares[2].share, 0.3);
}

// 64 Ki elements take 3.8 µs, read in steps of 32 ns: the loops' medians were all the same step, and they
// differed by 0 %, beside a share of the variation between loops.
TEST(Explain, LoopsDifferByLessThanATimersStep) {
  const Explanation found =
      study(physics::find_preset("h200"), Operation::parse("add:count=64Ki"), quick({"data"}));
  const Observation& seen = found.observation;
  EXPECT_GT(seen.between_loops, 0.0);
  EXPECT_LT(seen.between_loops, 32e-9 / to_seconds(seen.median)) << "below one step";
  EXPECT_GT(seen.within_loops, 0.0);
  EXPECT_GT(seen.between_stretches, seen.between_loops) << "their first launches vary more";
}

TEST(Explain, AShortStudySaysWhatItLeavesOut) {
  const Explanation brief = study(physics::find_preset("h200"), convolution(), {.time_limit = seconds(15)});
  EXPECT_EQ(factor(brief, "contention_link").verdict, FactorVerdict::left_out);
  EXPECT_THAT(conclusions_of(brief),
              testing::Contains(testing::AllOf(HasSubstr("for want of time"), HasSubstr("contention_link"))));
  EXPECT_GE(brief.blocks, 6);
  const Explanation long_one =
      study(physics::find_preset("h200"), convolution(), {.time_limit = seconds(150)});
  EXPECT_NE(factor(long_one, "contention_link").verdict, FactorVerdict::left_out);
  EXPECT_FALSE(factor(long_one, "contention_link").doses.empty());
  EXPECT_FALSE(factor(long_one, "contention_link").screened);  // after the others, by pairs alone
}

TEST(Explain, AnotherQueueThatFillsTheDeviceIsACause) {
  const Explanation found = study(physics::find_preset("h200"), convolution(), quick({"contention_kernels"}));
  EXPECT_EQ(factor(found, "contention_kernels").verdict, FactorVerdict::cause);
  EXPECT_GT(factor(found, "contention_kernels").doses.back().time.low, 1.05);
  EXPECT_LT(factor(found, "contention_kernels").doses.front().time.high,
            factor(found, "contention_kernels").doses.back().time.low);
}

TEST(Explain, CountersSayWhatACauseMoves) {
  const Operation relu(Elementwise{.kind = ElementwiseKind::relu, .count = 4 << 20});
  const Explanation found = study(physics::find_preset("h200"), relu, quick({"cache", "queue"}));
  const FactorResult& cache = factor(found, "cache");
  ASSERT_EQ(cache.verdict, FactorVerdict::cause);
  const auto read =
      std::ranges::find(cache.counters, CounterQuantity::dram_bytes_read, &CountedChange::quantity);
  ASSERT_NE(read, cache.counters.end());
  // Its input of 16 MiB is in the cache, or is not.
  EXPECT_NEAR(read->treated - read->plain, 16 << 20, 1 << 20);
  EXPECT_THAT(conclusions_of(found), testing::Contains(HasSubstr("MiB more from DRAM")));
  EXPECT_THAT(factor(found, "queue").counters, IsEmpty());
  EXPECT_THAT(found.without_counters, IsEmpty());
}

TEST(Explain, ANetworksPassIsOneLaunch) {
  Model network;
  network.name = "two";
  network.layers = {{.names = {"a"}, .operation = Operation::parse("relu:count=1Mi")},
                    {.names = {"b"}, .operation = Operation::parse("add:count=1Mi")}};
  network.calls = {{.layer = 0, .name = "a", .inputs = {}},
                   {.layer = 1, .name = "b", .inputs = {{.operand = 0, .call = 0, .source_operand = 1}}}};
  const physics::Parameters gpu = physics::find_preset("h200");
  const auto device = virtual_gpu::make_virtual_device(gpu, 1);
  Session session(*device);
  const Explanation found = explain(session, TrialSubject(network), quick({"cache", "data", "alignment"}));
  const Explanation alone = study(gpu, network.layers[0].operation, quick({"data"}));
  EXPECT_GT(found.observation.median, alone.observation.median * 1.5);
  EXPECT_EQ(found.operation, "two, 2 calls in their order");
  EXPECT_EQ(factor(found, "cache").verdict, FactorVerdict::cause);
  EXPECT_EQ(factor(found, "alignment").verdict, FactorVerdict::not_identifiable);
}

TEST(Explain, KeepsToItsTime) {
  for (const double limit : {30.0, 120.0}) {
    const Explanation found =
        study(physics::find_preset("h200"), convolution(), {.time_limit = seconds(limit)});
    EXPECT_LT(to_seconds(found.duration), limit + 5.0);
    EXPECT_GT(to_seconds(found.duration), limit * 0.8);
  }
}

TEST(Explain, LongLaunchesAndShortLimitsKeepToTheTimeToo) {
  const Operation long_spin(Spin{.amount = 500'000'000});
  const Explanation of_long = study(physics::find_preset("h200"), long_spin, quick());
  EXPECT_LT(to_seconds(of_long.duration), 40.0);
  EXPECT_GE(of_long.observation.loops.size(), 2u);
  EXPECT_THAT(conclusions_of(of_long), testing::Contains(HasSubstr("for want of time")));
  const Explanation in_short = study(physics::find_preset("h200"), convolution(), {.time_limit = seconds(1)});
  EXPECT_LT(to_seconds(in_short.duration), 3.0);
}

TEST(Explain, AnInterruptionEndsALoopOfLongLaunches) {
  const auto device = virtual_gpu::make_virtual_device(physics::find_preset("quiet"), 1);
  Session session(*device);
  ExplainOptions options = quick();
  const Nanoseconds start = device->host_time();
  options.interrupted = [&] { return device->host_time() - start > seconds(4); };
  const Explanation found = explain(session, Operation(Spin{.amount = 500'000'000}), options);
  EXPECT_TRUE(found.interrupted);
  EXPECT_LT(to_seconds(device->host_time() - start), 6.0);
}

// With steps of 1 us a mean of few readings is off by percents.
TEST(Explain, ACoarseTimerMakesNoCause) {
  physics::Parameters gpu = physics::find_preset("quiet");
  gpu.instruments.mark_grain = gpu.instruments.stamp_grain = microseconds(1);
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    ExplainOptions options = quick({"launches", "idle", "data"});
    options.seed = seed;
    const Explanation found = study(gpu, Operation::parse("relu:count=1Mi"), options);
    EXPECT_NE(factor(found, "launches").verdict, FactorVerdict::cause) << seed;
  }
}

TEST(Explain, AnInterruptionKeepsWhatIsKnown) {
  int asked = 0;
  ExplainOptions options = quick();
  options.interrupted = [&] { return ++asked > 40; };
  const Explanation found = study(physics::find_preset("quiet"), convolution(), options);
  EXPECT_TRUE(found.interrupted);
  EXPECT_FALSE(found.observation.loops.empty());
  EXPECT_EQ(factor(found, "cache").verdict, FactorVerdict::unresolved);
}

TEST(Explain, ProcessesGiveTheirSpread) {
  ExplainOptions options{.time_limit = seconds(60)};
  options.measure_in_processes = [](std::int64_t processes) {
    std::vector<ProcessTime> times;
    for (std::int64_t i = 0; i < processes; ++i) {
      times.emplace_back().time.median = microseconds(100.0 + static_cast<double>(i % 2));
      times.back().first_call = milliseconds(20);
    }
    return times;
  };
  const Explanation found = study(physics::find_preset("quiet"), convolution(), options);
  const auto process = std::ranges::find(found.random_factors, "process", &RandomFactor::id);
  ASSERT_NE(process, found.random_factors.end());
  EXPECT_NEAR(process->deviation, 0.0055, 0.001);
  EXPECT_LT(process->low, process->deviation);
  EXPECT_THAT(found.observation.first_work.launch_in_processes, testing::Each(milliseconds(20)));
  options.measure_in_processes = [](std::int64_t) { return std::vector<ProcessTime>(1); };
  const Explanation lost = study(physics::find_preset("quiet"), convolution(), options);
  EXPECT_THAT(lost.random_factors.back().not_available, HasSubstr("too few"));
  options.time_limit = seconds(30);
  const Explanation brief = study(physics::find_preset("quiet"), convolution(), options);
  EXPECT_THAT(brief.random_factors.back().not_available, HasSubstr("more than a fifth of the time"));
}

TEST(Explain, AnUnknownFactorIsRefused) {
  try {
    study(physics::find_preset("quiet"), convolution(), quick({"chache"}));
    FAIL();
  } catch (const UsageError& error) {
    EXPECT_THAT(error.what(), HasSubstr("did you mean 'cache'"));
  }
}

TEST(Explain, ADoseThatCannotRunCostsItselfOnly) {
  // A product of 8192 in bf16 does not fit beside these operands.
  physics::Parameters gpu = physics::find_preset("h200");
  gpu.identity.memory = Bytes(300 << 20);
  const Explanation found = study(gpu, Operation(Copy{.bytes = 50 << 20}), quick({"load", "idle"}));
  EXPECT_EQ(factor(found, "load").verdict, FactorVerdict::not_identifiable);
  EXPECT_THAT(factor(found, "load").reason, HasSubstr("memory"));
  EXPECT_FALSE(factor(found, "idle").doses.empty());
}

TEST(Explain, OperandsThatFitOnceHaveNoOtherData) {
  physics::Parameters gpu = physics::find_preset("h200");
  gpu.identity.memory = Bytes(500 << 20);
  const Explanation found = study(gpu, Operation(Copy{.bytes = 150 << 20}), quick({"data", "idle"}));
  EXPECT_EQ(factor(found, "data").verdict, FactorVerdict::not_identifiable);
  EXPECT_THAT(factor(found, "data").reason, HasSubstr("memory"));
  EXPECT_FALSE(factor(found, "idle").doses.empty());
}

}  // namespace
}  // namespace jitterscope::explain
