// What kernels follow is named where it was put in, and nothing is named where nothing was.
#include "timeline/variation.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>

#include "timeline/made_timeline.hpp"
#include "timeline/slow_steps.hpp"

namespace jitterscope::timeline {
namespace {

using test::MadeProgram;

struct Analysed {
  Timeline timeline;
  Steps steps;
  Variation variation;
  SlowSteps slow;
};

Analysed analysed(const MadeProgram& program) {
  Analysed result{test::make_timeline(program), {}, {}, {}};
  const Process& process = result.timeline.processes[0];
  result.steps = find_steps(process, process.devices[0]);
  result.variation = variation_of(result.timeline, process, process.devices[0], result.steps,
                                  overlap_of(process, process.devices[0]));
  result.slow = slow_steps_of(process, process.devices[0], result.steps);
  return result;
}

// Kernels whose first cause is this one.
std::size_t followers(const Variation& variation, Follows what) {
  return static_cast<std::size_t>(
      std::count_if(variation.kernels.begin(), variation.kernels.end(), [&](const KernelVariation& kernel) {
        return !kernel.follows.empty() && kernel.follows.front().what == what;
      }));
}

MadeProgram long_program(std::uint64_t seed) { return {.seed = seed, .steps = 9000, .kernel_us = 50.0}; }

TEST(Variation, OfASteadyProgramFollowsNothing) {
  std::size_t wrong = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    const Analysed result = analysed({.seed = seed, .steps = 500});
    const bool any = std::any_of(result.variation.kernels.begin(), result.variation.kernels.end(),
                                 [](const KernelVariation& kernel) { return !kernel.follows.empty(); });
    if (any || !result.slow.steps.empty() || !result.variation.common.by_step.empty()) ++wrong;
  }
  EXPECT_LE(wrong, 2u);
}

TEST(Variation, FollowsTheClockWhereSensorsMoveWithIt) {
  MadeProgram program = long_program(3);
  program.clock = 0.15;
  const Analysed result = analysed(program);
  EXPECT_EQ(followers(result.variation, Follows::clock), 24u);
  EXPECT_TRUE(result.variation.common.moves_with_sensors);
  EXPECT_NEAR(result.variation.common.effect, 0.15, 0.01);
  EXPECT_GT(result.variation.common.step_share.share, 0.95);
}

// As on hosts whose NVML says the same clock throughout.
TEST(Variation, FollowsTheClockThatThePowerShows) {
  MadeProgram program = long_program(4);
  program.clock = 0.15;
  program.clock_shows = false;
  program.power_shows = true;
  const Analysed result = analysed(program);
  EXPECT_TRUE(result.variation.common.moves_with_sensors);
  EXPECT_EQ(followers(result.variation, Follows::clock), 24u);
}

// Three seconds give 150 readings of NVML, which are few to tell chance from.
TEST(Variation, FollowsTheClockOfAShortProgram) {
  MadeProgram program{.seed = 4, .steps = 600, .clock = 0.15, .wave_s = 0.7, .clock_shows = false};
  program.power_shows = program.is_capped = true;
  const Analysed result = analysed(program);
  EXPECT_EQ(followers(result.variation, Follows::clock), 24u);
}

TEST(Variation, FollowsTheClockThatNvmlTellsLate) {
  MadeProgram program{.seed = 4, .steps = 1000, .clock = 0.15, .wave_s = 1.7, .clock_shows = false};
  program.power_shows = program.is_capped = true;
  program.sensors_late_s = 0.15;
  EXPECT_EQ(followers(analysed(program).variation, Follows::clock), 24u);
}

TEST(Variation, FollowsACommonFactorWhereNoSensorDoes) {
  MadeProgram program = long_program(4);
  program.clock = 0.15;
  program.clock_shows = false;
  const Analysed result = analysed(program);
  EXPECT_EQ(followers(result.variation, Follows::common_factor), 24u);
  EXPECT_EQ(followers(result.variation, Follows::clock), 0u);
}

TEST(Variation, FollowsAllocations) {
  MadeProgram program{.seed = 4, .steps = 1000, .allocates_every = 25, .records_calls = true};
  program.memory_slows = 0.08;
  EXPECT_TRUE(analysed(program).variation.common.moves_with_memory);
  program.records_calls = false;
  EXPECT_FALSE(analysed(program).variation.common.moves_with_memory) << "no call tells where";
  // A drift has nothing to do with them.
  program = {.seed = 4, .steps = 1000, .clock = 0.15, .wave_s = 3.0, .clock_shows = false};
  program.allocates_every = 25;
  program.records_calls = true;
  const CommonFactor drift = analysed(program).variation.common;
  EXPECT_FALSE(drift.by_step.empty());
  EXPECT_FALSE(drift.moves_with_memory);
}

// In whatever order the calls come, and however few they are.
TEST(Variation, HasTheQuantilesOfAllCalls) {
  Random random(7);
  for (const std::size_t calls : {1u, 2u, 3u, 9u, 30u, 301u}) {
    Timeline timeline = test::make_timeline({.steps = 0, .warm_up = 0});
    Process& process = timeline.processes[0];
    DeviceWork work;
    std::vector<double> times;
    for (std::size_t i = 0; i < calls; ++i) {
      const auto length = static_cast<Time>(1'000 + random.below(100'000));
      times.push_back(static_cast<double>(length) * 1e-9);
      work.begin.push_back(static_cast<Time>(i) * 1'000'000);
      work.end.push_back(work.begin.back() + length);
      work.what.push_back(0);
      work.stream.push_back(7);
      work.correlation.push_back(static_cast<std::uint32_t>(i + 1));
    }
    const Variation variation =
        variation_of(timeline, process, work, find_steps(process, work), overlap_of(process, work));
    ASSERT_EQ(variation.kernels.size(), 1u);
    std::sort(times.begin(), times.end());
    const auto at = [&](double probability) {
      return times[static_cast<std::size_t>(std::lround(probability * static_cast<double>(calls - 1)))];
    };
    EXPECT_DOUBLE_EQ(variation.kernels[0].p5, at(0.05)) << calls;
    EXPECT_DOUBLE_EQ(variation.kernels[0].median, at(0.5)) << calls;
    EXPECT_DOUBLE_EQ(variation.kernels[0].p95, at(0.95)) << calls;
  }
}

// One kernel has no other to be common with: NVML alone tells.
TEST(Variation, OfOneKernelFollowsTheClockThatNvmlSaw) {
  MadeProgram program = long_program(5);
  program.steps = 200'000;
  program.kernels = 1;
  program.clock = 0.15;
  const Analysed shown = analysed(program);
  EXPECT_EQ(followers(shown.variation, Follows::clock), 1u);
  program.clock_shows = false;
  EXPECT_EQ(followers(analysed(program).variation, Follows::clock), 0u);
}

TEST(Variation, FollowsCopiesBesideIt) {
  MadeProgram program = long_program(6);
  program.steps = 1000;
  program.copy_slows = 0.05;
  const Analysed result = analysed(program);
  EXPECT_GE(followers(result.variation, Follows::copies), 11u);
  for (const KernelVariation& kernel : result.variation.kernels) {
    for (const FollowedCause& cause : kernel.follows) {
      if (cause.what == Follows::copies) {
        EXPECT_NEAR(cause.effect, 0.05, 0.01);
      }
    }
  }
}

// A copy of each step is beside the same places of it, and the others are without.
TEST(Variation, FollowsCopiesThatComeAtTheSamePlaces) {
  MadeProgram program = long_program(6);
  program.steps = 1000;
  program.kernels = 6;
  program.layers = 8;
  program.head = 1;
  program.noise = 0.01;
  program.copy_slows = 0.015;
  program.copy_every = 1;
  const Analysed result = analysed(program);
  EXPECT_GE(followers(result.variation, Follows::copies), 2u);
  EXPECT_EQ(followers(result.variation, Follows::place), 0u);
}

// Steps without a copy and steps with one are of two kinds, and their kernels are the same.
TEST(Variation, FollowsCopiesOfEachEighthStep) {
  MadeProgram program = long_program(6);
  program.steps = 4000;
  program.kernels = 6;
  program.noise = 0.01;
  program.copy_slows = 0.012;
  program.copy_every = 8;
  EXPECT_EQ(followers(analysed(program).variation, Follows::copies), 3u);
}

TEST(Variation, FollowsThePlaceInTheStep) {
  MadeProgram program = long_program(7);
  program.steps = 1000;
  program.place_slows = 0.2;
  const Analysed result = analysed(program);
  ASSERT_EQ(followers(result.variation, Follows::place), 1u);
  const KernelVariation& kernel = result.variation.kernels.front();
  EXPECT_NEAR(kernel.follows.front().effect, 0.2, 0.01);
  EXPECT_NEAR(kernel.calls_per_step, 2.0, 0.01);
  EXPECT_NEAR(kernel.rest.value_or(0.0), 0.003, 0.001);
}

TEST(Variation, FollowsAnotherProcess) {
  MadeProgram program = long_program(8);
  program.other_process_slows = 0.1;
  const Analysed result = analysed(program);
  EXPECT_EQ(followers(result.variation, Follows::other_process), 24u);
}

TEST(Variation, WithoutStepsIsBySeconds) {
  const Analysed result = analysed({.steps = 0, .kernel_us = 500.0, .warm_up = 20'000});
  EXPECT_TRUE(result.variation.by_stretches);
  EXPECT_EQ(result.variation.kernels.size(), 24u);
  for (const KernelVariation& kernel : result.variation.kernels) EXPECT_TRUE(kernel.follows.empty());
}

TEST(Variation, OfTooFewStepsHasTimesAndNoCauses) {
  const Analysed result = analysed({.steps = 6, .warm_up = 0});
  EXPECT_EQ(result.variation.kernels.size(), 24u);
  EXPECT_GT(result.variation.kernels.front().median, 0.0);
  for (const KernelVariation& kernel : result.variation.kernels) EXPECT_TRUE(kernel.follows.empty());
}

TEST(SlowSteps, IdleWhereTheInputIsLate) {
  const SlowSteps slow = analysed({.steps = 1000, .late_input_every = 25}).slow;
  EXPECT_EQ(slow.steps.size(), 40u);
  ASSERT_FALSE(slow.traits.empty());
  EXPECT_EQ(slow.traits[0].trait, StepTrait::idle);
  EXPECT_EQ(slow.traits[0].slow, 40u);
  EXPECT_EQ(slow.traits[0].other, 0u);
  EXPECT_NEAR(slow.traits[0].seconds, 0.009, 0.0005);
}

// More than one step in twenty is late by a little.
TEST(SlowSteps, AreFoundAmongManyThatAreALittleLate) {
  const SlowSteps slow = analysed({.steps = 1000, .late_input_every = 25, .late_by_chance_us = 200.0}).slow;
  EXPECT_EQ(slow.steps.size(), 40u);
  ASSERT_FALSE(slow.traits.empty());
  EXPECT_NEAR(slow.traits[0].seconds, 0.009, 0.0005);
}

// Levels with a period, from few steps and from many, of which more are slow than noise ever makes.
TEST(SlowSteps, HaveThePeriodWithWhichTheyComeBack) {
  for (const std::size_t every : {2u, 3u, 5u, 10u}) {
    for (const std::size_t count : {24u, 200u, 2000u}) {
      if (count < 5 * every) continue;
      MadeProgram late{.steps = count, .kernels = 5, .late_input_every = every, .warm_up = 0};
      MadeProgram longer{.steps = count, .kernels = 5, .long_kernel_every = every, .warm_up = 0};
      for (const MadeProgram* program : {&late, &longer}) {
        const Analysed result = analysed(*program);
        const SlowSteps& slow = result.slow;
        ASSERT_TRUE(slow.recurrence) << every << ' ' << count;
        EXPECT_EQ(slow.recurrence->period, static_cast<std::int64_t>(every));
        EXPECT_EQ(slow.recurrence->slow, 1);
        EXPECT_NEAR(static_cast<double>(slow.steps.size()), static_cast<double>(count / every),
                    1.0 + 0.01 * static_cast<double>(count / every));
        ASSERT_EQ(slow.parts.size(), 1u);
        EXPECT_EQ(slow.parts[0].is_gap, program == &late);
        const std::string& name = result.timeline.processes[0].names[slow.parts[0].what].name;
        EXPECT_EQ(name, program == &late ? "kernel_0" : "kernel_2");
        EXPECT_NEAR(slow.parts[0].seconds, slow.seconds - slow.other_seconds, 1e-5);
      }
    }
  }
}

TEST(SlowSteps, HaveLevelsWithoutAPeriodWhereTheyComeByChance) {
  const SlowSteps slow =
      analysed({.steps = 1000, .kernels = 5, .late_by_chance_us = 500.0, .warm_up = 0}).slow;
  EXPECT_NEAR(static_cast<double>(slow.steps.size()), 100.0, 25.0);
  EXPECT_NEAR(slow.seconds - slow.other_seconds, 500e-6, 10e-6);
  EXPECT_FALSE(slow.recurrence);
  ASSERT_EQ(slow.parts.size(), 1u);
  EXPECT_TRUE(slow.parts[0].is_gap);
}

// 600 programs of 20 to 220 steps: with little noise and much, with drift, and with steps late by chance.
TEST(SlowSteps, HaveHardlyEverAPeriodThatIsNoise) {
  std::size_t periods = 0, levels = 0, all = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    MadeProgram noisy{.seed = seed, .steps = 21 + seed, .kernels = 3, .warm_up = 0};
    noisy.noise = seed % 4 == 0 ? 0.001 : seed % 4 == 1 ? 0.01 : seed % 4 == 2 ? 0.1 : 0.5;
    MadeProgram drifting = noisy, late = noisy;
    drifting.drift = 0.02;
    late.noise = 0.003;
    late.late_by_chance_us = 300.0;
    for (const MadeProgram* program : {&noisy, &drifting, &late}) {
      const Timeline timeline = test::make_timeline(*program);
      const Process& process = timeline.processes[0];
      const Steps steps = find_steps(process, process.devices[0]);
      ASSERT_TRUE(steps.were_found()) << seed;
      const SlowSteps slow = slow_steps_of(process, process.devices[0], steps);
      ++all;
      periods += slow.recurrence.has_value();
      levels += program != &late && 20 * slow.steps.size() > slow.of;
    }
  }
  EXPECT_EQ(all, 600u);
  EXPECT_LE(periods, 6u);
  EXPECT_LE(levels, 6u);
}

TEST(SlowSteps, WaitForAProgramThatIsElsewhereWhereCallsTellIt) {
  const SlowSteps slow = analysed({.steps = 1000, .late_input_every = 25, .records_calls = true}).slow;
  ASSERT_FALSE(slow.traits.empty());
  EXPECT_EQ(slow.traits[0].trait, StepTrait::idle_host_elsewhere);
}

TEST(SlowSteps, AreTheFirstOnesWhereFirstCallsAreSlow) {
  const SlowSteps slow = analysed({.steps = 1000, .first_calls_slow = 0.5, .warm_up = 0}).slow;
  EXPECT_EQ(slow.steps.size(), 7u);
  EXPECT_TRUE(std::any_of(slow.traits.begin(), slow.traits.end(), [](const TraitOfSlowSteps& trait) {
    return trait.trait == StepTrait::first_steps;
  }));
}

TEST(SlowSteps, AreStretchesWhereTheyFollowEachOther) {
  MadeProgram program = long_program(9);
  program.other_process_slows = 0.1;
  const SlowSteps slow = analysed(program).slow;
  EXPECT_TRUE(slow.steps.empty());
  EXPECT_NEAR(slow.stretches.longer, 0.1, 0.01);
  EXPECT_GT(slow.stretches.busy, slow.stretches.idle);
  ASSERT_FALSE(slow.stretches.spans.empty());
  EXPECT_NEAR(static_cast<double>(slow.stretches.spans.front().length()), 3e9, 0.1e9);
}

TEST(SlowSteps, HaveStretchesInWhichTheHostIsSlower) {
  MadeProgram program{.steps = 2000};
  program.slow_host_from = 400;
  program.slow_host_to = 600;
  const SlowSteps slow = analysed(program).slow;
  ASSERT_EQ(slow.stretches.spans.size(), 1u);
  EXPECT_NEAR(static_cast<double>(slow.stretches.steps.size()), 200.0, 2.0);
  EXPECT_GT(slow.stretches.idle, 10.0 * std::abs(slow.stretches.busy));
  EXPECT_TRUE(slow.steps.empty());
}

// Whether calls were recorded all the time or not at all: where they were, steps are as comparable.
TEST(SlowSteps, HaveLevelsWhereAChangeStays) {
  for (const bool calls : {false, true}) {
    for (const std::size_t from : {120u, 60u}) {
      MadeProgram program{.steps = 200, .kernels = 5, .records_calls = calls};
      program.slower_from = from;
      program.slower = 0.1;
      const SlowSteps slow = analysed(program).slow;
      ASSERT_TRUE(slow.levels) << calls << ' ' << from;
      EXPECT_NEAR(static_cast<double>(slow.levels->step), from, 1.0);
      EXPECT_NEAR(slow.levels->after.median / slow.levels->before.median, 1.1, 0.005);
      EXPECT_GT(slow.levels->busy, 10.0 * std::abs(slow.levels->idle));
      EXPECT_TRUE(slow.stretches.spans.empty());
      EXPECT_TRUE(slow.steps.empty());
    }
  }
}

// A late input is as slow on the later level as on the earlier one.
TEST(SlowSteps, AreToldFromTheirLevel) {
  MadeProgram program{.steps = 400, .kernel_us = 2000.0, .late_input_every = 40};
  program.slower_from = 200;
  program.slower = 0.05;
  const SlowSteps slow = analysed(program).slow;
  ASSERT_TRUE(slow.levels);
  EXPECT_EQ(slow.steps.size(), 10u);
}

TEST(SlowSteps, HaveStretchesWhereAllCallsWereRecorded) {
  MadeProgram program{.steps = 400, .records_calls = true};
  program.slow_host_from = 100;
  program.slow_host_to = 150;
  const SlowSteps slow = analysed(program).slow;
  ASSERT_EQ(slow.stretches.spans.size(), 1u);
  EXPECT_NEAR(static_cast<double>(slow.stretches.steps.size()), 50.0, 2.0);
}

TEST(SlowSteps, AreNoStretchesInProgramsThatDrift) {
  std::size_t found = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    MadeProgram program{.seed = seed, .steps = 600, .kernels = 6, .drift = 0.01};
    if (!analysed(program).slow.stretches.spans.empty()) ++found;
  }
  EXPECT_LE(found, 2u);
}

// Kernels that drift on their own, step by step, follow nothing that is known.
TEST(Variation, OfKernelsThatDriftFollowsNothing) {
  std::size_t wrong = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    const Analysed result = analysed({.seed = seed, .steps = 500, .noise = 0.002, .drift = 0.003});
    if (std::any_of(result.variation.kernels.begin(), result.variation.kernels.end(),
                    [](const KernelVariation& kernel) { return !kernel.follows.empty(); }))
      ++wrong;
  }
  EXPECT_LE(wrong, 2u);
}

// What is put in is named first in nine of ten programs, and nothing else is.
struct StagedCause {
  const char* name;
  std::size_t steps;
  double MadeProgram::*amount;
  double size;
  Follows what;
  std::size_t kernels;  ///< that follow it
};

class Staged : public testing::TestWithParam<StagedCause> {};

TEST_P(Staged, IsNamedFirstAndAlone) {
  const StagedCause& cause = GetParam();
  std::size_t named = 0, alone = 0;
  constexpr std::uint64_t kPrograms = 10;
  for (std::uint64_t seed = 101; seed < 101 + kPrograms; ++seed) {
    MadeProgram program{.seed = seed, .steps = cause.steps, .kernel_us = 50.0};
    program.*cause.amount = cause.size;
    const Analysed result = analysed(program);
    if (followers(result.variation, cause.what) >= cause.kernels) ++named;
    const bool is_alone = std::all_of(
        result.variation.kernels.begin(), result.variation.kernels.end(), [&](const KernelVariation& kernel) {
          return std::all_of(kernel.follows.begin(), kernel.follows.end(),
                             [&](const FollowedCause& each) { return each.what == cause.what; });
        });
    if (is_alone) ++alone;
  }
  EXPECT_GE(named, 9u);
  EXPECT_GE(alone, 9u);
}

INSTANTIATE_TEST_SUITE_P(
    Causes, Staged,
    testing::Values(
        StagedCause{"clock", 9000, &MadeProgram::clock, 0.05, Follows::clock, 24},
        StagedCause{"copies", 600, &MadeProgram::copy_slows, 0.03, Follows::copies, 11},
        StagedCause{"place", 600, &MadeProgram::place_slows, 0.02, Follows::place, 1},
        StagedCause{"another_process", 9000, &MadeProgram::other_process_slows, 0.05, Follows::other_process,
                    24},
        StagedCause{"first_calls", 600, &MadeProgram::first_calls_slow, 0.5, Follows::first_calls, 23},
        StagedCause{"the_kernel_before", 600, &MadeProgram::preceding_slows, 0.02, Follows::preceding, 1},
        StagedCause{"trend", 600, &MadeProgram::trend, 0.02, Follows::trend, 3}),
    [](const testing::TestParamInfo<StagedCause>& each) { return each.param.name; });

// What makes steps slow is the first thing that is said of them.
struct SlowCause {
  const char* name;
  std::size_t MadeProgram::*every;
  bool records_calls;
  StepTrait trait;
};

class StagedSlowSteps : public testing::TestWithParam<SlowCause> {};

TEST_P(StagedSlowSteps, AreToldFirstByTheirCause) {
  std::size_t named = 0;
  for (std::uint64_t seed = 201; seed <= 210; ++seed) {
    MadeProgram program{
        .seed = seed, .steps = 400, .drift = 0.002, .records_calls = GetParam().records_calls};
    program.*GetParam().every = 40;
    const SlowSteps slow = analysed(program).slow;
    if (slow.steps.size() == 10 && !slow.traits.empty() && slow.traits.front().trait == GetParam().trait &&
        slow.traits.front().slow == 10 && slow.traits.front().other == 0)
      ++named;
  }
  EXPECT_GE(named, 9u);
}

INSTANTIATE_TEST_SUITE_P(
    Causes, StagedSlowSteps,
    testing::Values(
        SlowCause{"input", &MadeProgram::late_input_every, false, StepTrait::idle},
        SlowCause{"input_with_calls", &MadeProgram::late_input_every, true, StepTrait::idle_host_elsewhere},
        SlowCause{"allocation", &MadeProgram::allocates_every, false, StepTrait::idle},
        SlowCause{"allocation_with_calls", &MadeProgram::allocates_every, true, StepTrait::idle_allocation}),
    [](const testing::TestParamInfo<SlowCause>& each) { return each.param.name; });

// Intervals hold what was put in, of programs whose kernels drift from step to step.
struct StagedEffect {
  const char* name;
  double MadeProgram::*amount;
  double size;
  Follows what;
  double truth;
};

class IntervalsOfEffects : public testing::TestWithParam<StagedEffect> {};

TEST_P(IntervalsOfEffects, HoldInProgramsThatDrift) {
  const StagedEffect& staged = GetParam();
  std::size_t held = 0, all = 0;
  for (std::uint64_t seed = 301; seed <= 360; ++seed) {
    MadeProgram program{.seed = seed, .steps = 400, .noise = 0.002, .drift = 0.002};
    program.*staged.amount = staged.size;
    if (staged.what == Follows::other_process) program.kernel_us = 1000.0;  // 20 s, of which it is there half
    for (const KernelVariation& kernel : analysed(program).variation.kernels) {
      for (const FollowedCause& cause : kernel.follows) {
        if (cause.what != staged.what) continue;
        ++all;
        if (cause.interval.low <= staged.truth && staged.truth <= cause.interval.high) ++held;
      }
    }
  }
  EXPECT_GE(all, 50u);
  EXPECT_GE(held, all * 93 / 100) << "of " << all;
}

INSTANTIATE_TEST_SUITE_P(
    Causes, IntervalsOfEffects,
    testing::Values(
        StagedEffect{"copies", &MadeProgram::copy_slows, 0.03, Follows::copies, 0.03},
        StagedEffect{"place", &MadeProgram::place_slows, 0.03, Follows::place, 0.03},
        StagedEffect{"first_calls", &MadeProgram::first_calls_slow, 0.1, Follows::first_calls, 0.1},
        StagedEffect{"the_kernel_before", &MadeProgram::preceding_slows, 0.03, Follows::preceding, 0.03},
        StagedEffect{"another_process", &MadeProgram::other_process_slows, 0.05, Follows::other_process,
                     0.05},
        StagedEffect{"trend", &MadeProgram::trend, 0.03, Follows::trend,
                     (1 + 0.95 * 0.03) / (1 + 0.05 * 0.03) - 1}),
    [](const testing::TestParamInfo<StagedEffect>& each) { return each.param.name; });

}  // namespace
}  // namespace jitterscope::timeline
