// Steps that are there are found, as many as there are; where there are none, none are.
#include "timeline/steps.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <map>
#include <tuple>

#include "jitterscope/error.hpp"
#include "timeline/made_timeline.hpp"
#include "timeline/series.hpp"

namespace jitterscope::timeline {
namespace {

using test::MadeProgram;

Steps steps_of(const MadeProgram& program) {
  const Timeline timeline = test::make_timeline(program);
  return find_steps(timeline.processes[0], timeline.processes[0].devices[0]);
}

TEST(Steps, OfATrainingAreFoundBehindItsWarmUp) {
  const Steps steps = steps_of({.steps = 200});
  ASSERT_TRUE(steps.were_found()) << steps.reason;
  ASSERT_EQ(steps.kinds.size(), 1u);
  EXPECT_NEAR(static_cast<double>(steps.kinds[0].count), 200.0, 1.0);
  EXPECT_EQ(steps.kinds[0].work, 24u);
  EXPECT_LE(steps.kinds[0].interval.low, steps.kinds[0].seconds);
  EXPECT_GE(steps.kinds[0].interval.high, steps.kinds[0].seconds);
}

TEST(Steps, HoldAllLayersOfANetworkAndNotOneEach) {
  const Steps steps = steps_of({.steps = 60, .kernels = 12, .layers = 24, .head = 5});
  ASSERT_EQ(steps.kinds.size(), 1u);
  EXPECT_NEAR(static_cast<double>(steps.kinds[0].count), 60.0, 1.0);
  EXPECT_EQ(steps.kinds[0].work, 12u * 24u + 5u);
}

// The host launches each layer late, and the step later still.
TEST(Steps, HoldAllLayersAlsoWhereEachBeginsBehindAGap) {
  const Steps steps = steps_of(
      {.steps = 300, .kernels = 5, .layers = 6, .head = 3, .step_gap_us = 40.0, .layer_gap_us = 15.0});
  ASSERT_EQ(steps.kinds.size(), 1u);
  EXPECT_EQ(steps.kinds[0].work, 33u);
}

// A program that waits for no result has no longer gap where its step begins.
TEST(Steps, HoldAllLayersWhereTheirGapIsTheLongest) {
  const Steps steps = steps_of({.steps = 300, .kernels = 5, .layers = 6, .head = 3, .layer_gap_us = 15.0});
  ASSERT_EQ(steps.kinds.size(), 1u);
  EXPECT_EQ(steps.kinds[0].work, 33u);
}

// Each kernel runs many times a step, none once, in an order without a pattern: sequences of them recur.
TEST(Steps, AreFoundWhereNoKernelComesOnceAStep) {
  Timeline timeline = test::make_timeline({.steps = 0, .warm_up = 12'000});
  Process& process = timeline.processes[0];
  DeviceWork& work = process.devices[0];
  Random random(3);
  std::vector<std::uint32_t> order;
  for (std::size_t i = 0; i < 300; ++i) order.push_back(static_cast<std::uint32_t>(random.below(20)));
  Time later = 0;
  for (std::size_t i = 0; i < work.size(); ++i) {
    work.what[i] = order[i % order.size()];
    if (i % order.size() == 100) later += 50'000;  // the program begins its steps here
    work.begin[i] += later;
    work.end[i] += later;
  }
  const Steps steps = find_steps(process, work);
  ASSERT_EQ(steps.kinds.size(), 1u) << steps.reason;
  EXPECT_EQ(steps.kinds[0].work, 300u);
  EXPECT_NEAR(static_cast<double>(steps.kinds[0].count), 40.0, 2.0);
  EXPECT_EQ(steps.steps.front().first % order.size(), 100u);
}

TEST(Steps, ThatDifferInACopyAreOfOneKind) {
  const Steps steps = steps_of({.steps = 200, .copy_slows = 0.0});
  ASSERT_EQ(steps.kinds.size(), 1u);
  EXPECT_NEAR(static_cast<double>(steps.kinds[0].count), 200.0, 1.0);
}

TEST(Steps, OfTwoKindsAreToldApart) {
  const Steps steps = steps_of({.steps = 640, .prefill_every = 64});
  ASSERT_EQ(steps.kinds.size(), 2u);
  EXPECT_NEAR(static_cast<double>(steps.kinds[0].count), 640.0, 1.0);
  EXPECT_EQ(steps.kinds[0].work, 24u);
  EXPECT_NEAR(static_cast<double>(steps.kinds[1].count), 10.0, 1.0);
  EXPECT_EQ(steps.kinds[1].work, 40u);
}

// One kernel again and again: how many of them are a step is the program's secret.
TEST(Steps, AreNotInventedInAPlainLoop) {
  const Steps steps = steps_of({.steps = 500, .kernels = 1, .warm_up = 0});
  EXPECT_FALSE(steps.were_found());
  EXPECT_THAT(steps.reason, testing::HasSubstr("the same kernel comes again and again"));
}

TEST(Steps, AreLaunchesOfAGraphAndNotWhatRepeatsInIt) {
  for (const std::size_t kernels : {1u, 3u}) {
    const Steps steps = steps_of({.steps = 200, .kernels = kernels, .layers = 30, .as_graphs = true});
    ASSERT_EQ(steps.kinds.size(), 1u) << steps.reason;
    EXPECT_EQ(steps.kinds[0].work, 30 * kernels);
    EXPECT_NEAR(static_cast<double>(steps.kinds[0].count), 200.0, 1.0);
  }
}

// Work without an order, whatever its gaps are.
TEST(Steps, AreNotInventedWhereNothingRepeats) {
  for (const std::uint64_t seed : {1, 2, 3, 4, 5, 6}) {
    const Steps steps = steps_of({.seed = seed, .steps = 0, .warm_up = 5000});
    EXPECT_FALSE(steps.were_found());
    EXPECT_FALSE(steps.reason.empty());
    EXPECT_EQ(steps.other_work, 5001u);
  }
}

TEST(Steps, AreNotInventedFromFour) { EXPECT_FALSE(steps_of({.steps = 4, .warm_up = 0}).were_found()); }

TEST(Steps, AreNotInventedWhereTheyAreTheSmallerPart) {
  EXPECT_FALSE(steps_of({.steps = 10, .warm_up = 5000}).were_found());
}

// Why there are none: three steps are steps, and too few to tell.
TEST(Steps, ThatAreFewerThanFiveAreSaidToBeSo) {
  for (const std::size_t count : {2u, 3u, 4u}) {
    const Steps steps = steps_of({.steps = count, .warm_up = 0});
    EXPECT_FALSE(steps.were_found());
    EXPECT_THAT(steps.reason, testing::HasSubstr("the same work comes " + std::to_string(count) + " times"));
  }
  EXPECT_THAT(steps_of({.steps = 0, .warm_up = 5000}).reason,
              testing::Not(testing::HasSubstr("fewer than five")));
}

// A save is copies alone: the step is what all kernels lie in, and every tenth is another kind.
TEST(Steps, AreFoundBetweenSaves) {
  const Steps steps =
      steps_of({.steps = 200, .kernels = 5, .step_gap_us = 0.0, .save_every = 10, .warm_up = 0});
  ASSERT_EQ(steps.kinds.size(), 2u);
  EXPECT_NEAR(static_cast<double>(steps.kinds[0].count), 180.0, 1.0);
  EXPECT_NEAR(static_cast<double>(steps.kinds[1].count), 20.0, 1.0);
  EXPECT_EQ(steps.kinds[0].work, 5u);
  EXPECT_EQ(steps.kinds[1].work, 6u);
  EXPECT_FALSE(steps.repetition);
}

// A kernel behind every tenth may as well be a network's head behind ten layers: both are told.
TEST(Steps, OfTenRepetitionsTellWhatRepeats) {
  const Steps steps =
      steps_of({.steps = 200, .kernels = 5, .step_gap_us = 0.0, .extra_every = 10, .warm_up = 0});
  ASSERT_EQ(steps.kinds.size(), 1u);
  EXPECT_EQ(steps.kinds[0].work, 51u);
  ASSERT_TRUE(steps.repetition);
  EXPECT_EQ(steps.repetition->pieces->kinds[0].work, 5u);
  EXPECT_FALSE(steps_of({.steps = 200}).repetition);
}

// What stands between repetitions is none of them: they and the rest make the step's work and time.
TEST(Steps, OfRepetitionsCountThemAndNotTheRest) {
  for (const std::size_t every : {8u, 10u}) {
    const Timeline timeline = test::make_timeline(
        {.steps = 200, .kernels = 5, .step_gap_us = 0.0, .extra_every = every, .warm_up = 0});
    const Steps steps = find_steps(timeline.processes[0], timeline.processes[0].devices[0]);
    ASSERT_TRUE(steps.repetition) << every;
    const Repetition& repetition = *steps.repetition;
    EXPECT_NEAR(repetition.times, static_cast<double>(every), 1e-9);
    ASSERT_EQ(repetition.rest.size(), 1u);
    EXPECT_EQ(timeline.processes[0].names[repetition.rest[0].what].name, "kernel_5");
    EXPECT_NEAR(repetition.rest[0].calls, 1.0, 1e-9);
    EXPECT_EQ(static_cast<double>(steps.kinds[0].work), 5.0 * static_cast<double>(every) + 1.0);
    EXPECT_NEAR(repetition.times * repetition.pieces->kinds[0].seconds + repetition.rest[0].seconds,
                steps.kinds[0].seconds, 0.01 * steps.kinds[0].seconds);
  }
}

TEST(Steps, OfNothing) {
  Process process;
  EXPECT_FALSE(find_steps(process, {}).were_found());
}

// A step in which something was not recorded counts no time.
TEST(Steps, AreWholeWithinOneWindowOnly) {
  Timeline timeline = test::make_timeline({.steps = 300});
  Process& process = timeline.processes[0];
  const Span all = process.devices[0].span();
  const Time middle = all.begin + all.length() / 2, tenth = all.length() / 10;
  process.windows = {{{all.begin, middle}, capture::Detail::light},
                     {{middle, middle + tenth}, capture::Detail::off},
                     {{middle + tenth, all.end}, capture::Detail::light}};
  const Steps steps = find_steps(process, process.devices[0]);
  ASSERT_TRUE(steps.were_found());
  for (const Step& step : steps.steps) {
    const bool touches = step.end > middle && step.begin < middle + tenth;
    EXPECT_EQ(step.is_whole, !touches);
  }
  EXPECT_LT(steps.kinds[0].count, steps.steps.size());
}

TEST(Steps, OfRangesBeginWithTheRange) {
  Timeline timeline = test::make_timeline({.steps = 100});
  Process& process = timeline.processes[0];
  const DeviceWork& work = process.devices[0];
  for (std::size_t i = 0; i < 10; ++i) {
    process.ranges.push_back({"iteration", {work.begin[50 + 100 * i], work.begin[60 + 100 * i]}});
  }
  const Steps steps = steps_of_ranges(process, work, "iteration");
  ASSERT_EQ(steps.steps.size(), 9u);
  EXPECT_EQ(steps.steps[0].first, 50u);
  EXPECT_EQ(steps.steps[0].last, 150u);
  try {
    steps_of_ranges(process, work, "epoch");
    FAIL();
  } catch (const UsageError& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("iteration ×10"));
  }
}

TEST(Steps, RangesAreNamedThatComeAgainFirst) {
  Process process;
  EXPECT_EQ(ranges_in_words(process, 3), "");
  process.ranges = {{"whole", {0, 1000}},          {"load", {0, 10}},       {"forward", {10, 90}},
                    {"load", {100, 110}},          {"forward", {110, 190}}, {"ProfilerStep#1", {0, 100}},
                    {"ProfilerStep#2", {100, 200}}};
  EXPECT_EQ(ranges_in_words(process, 3), "forward ×2, load ×2, whole ×1, 2 more");
  EXPECT_EQ(ranges_in_words(process, 9),
            "forward ×2, load ×2, whole ×1, ProfilerStep#1 ×1, ProfilerStep#2 ×1");
}

// Programs as people write them: what they launch, step after step, with noise in every time.
class Launcher {
 public:
  explicit Launcher(std::uint64_t seed) : random_(seed) {}

  // A kernel with its shape, as one number.
  void kernel(std::uint32_t what, Time length = 20'000, std::uint32_t stream = 7) {
    while (process_.names.size() <= what)
      process_.names.push_back({.name = std::to_string(process_.names.size())});
    Time& free = free_[stream];
    const Time begin = std::max(free, ready_) + 1000;
    const auto noisy = static_cast<Time>(static_cast<double>(length) * std::exp(0.01 * random_.normal()));
    work_.begin.push_back(begin);
    work_.end.push_back(begin + noisy);
    work_.what.push_back(what);
    work_.stream.push_back(stream);
    work_.correlation.push_back(0);
    free = begin + noisy;
  }
  // Kernels of a network: so many layers, of three kernels each.
  void layers(std::uint32_t first, std::size_t count) {
    for (std::size_t layer = 0; layer < count; ++layer) {
      for (std::uint32_t i = 0; i < 3; ++i) kernel(first + i);
    }
  }
  // The host waits for all streams, and then does something of its own.
  void wait(Time length = 50'000) {
    for (const auto& [stream, free] : free_) ready_ = std::max(ready_, free);
    ready_ += length;
  }
  std::size_t below(std::size_t count) { return random_.below(count); }
  double exponential() { return -std::log(1.0 - random_.uniform(0.0, 1.0)); }
  // `what` is one more shape of the kernel of that name.
  void is_shape_of(std::uint32_t what, const char* name) {
    kernel(what, 0);
    process_.names[what].name = name;
  }

  Steps steps() {
    sort_by_begin(work_);
    return find_steps(process_, work_);
  }

 private:
  Random random_;
  Process process_;
  DeviceWork work_;
  std::map<std::uint32_t, Time> free_;
  Time ready_ = 1'700'000'000'000'000'000;
};

struct Program {
  const char* name;
  void (*run)(Launcher& gpu);
  std::size_t steps, tolerance;  ///< of all kinds that are told
  std::size_t work;              ///< in one of the most frequent kind; 0: whatever it is
};

void train(Launcher& gpu, std::size_t layers = 24) {
  gpu.layers(0, layers);   // forward
  gpu.kernel(10);          // loss
  gpu.layers(20, layers);  // backward
}
void optimize(Launcher& gpu) {
  for (std::size_t i = 0; i < 8; ++i) gpu.kernel(40);
  gpu.wait();
}

const Program kWithSteps[] = {
    {"a_training",
     [](Launcher& gpu) {
       for (int i = 0; i < 100; ++i) train(gpu), optimize(gpu);
     },
     100, 1, 24 * 6 + 1 + 8},
    {"gradients_of_four_batches",
     [](Launcher& gpu) {
       for (int i = 0; i < 60; ++i) {
         for (int batch = 0; batch < 4; ++batch) train(gpu, 8);
         optimize(gpu);
       }
     },
     60, 1, 4 * (8 * 6 + 1) + 8},
    {"an_evaluation_after_each_50_steps",
     [](Launcher& gpu) {
       for (int i = 1; i <= 300; ++i) {
         train(gpu, 6);
         optimize(gpu);
         for (int batch = 0; i % 50 == 0 && batch < 10; ++batch) gpu.layers(0, 6), gpu.kernel(50), gpu.wait();
       }
     },
     300, 8, 6 * 6 + 1 + 8},
    {"a_decoding_loop_with_prefills",
     [](Launcher& gpu) {
       for (int i = 0; i < 400; ++i) {
         if (gpu.below(20) == 0) gpu.layers(60, 16), gpu.wait();
         gpu.layers(0, 16);
         gpu.kernel(10);
         gpu.wait();
       }
     },
     400, 30, 16 * 3 + 1},
    {"two_streams",
     [](Launcher& gpu) {
       for (int i = 0; i < 100; ++i) {
         for (int layer = 0; layer < 10; ++layer)
           gpu.kernel(0, 30'000, 7), gpu.kernel(1, 20'000 + 1000 * layer, 8), gpu.kernel(2, 25'000, 7);
         gpu.wait();
       }
     },
     100, 1, 30},
    {"graphs_as_a_whole",
     [](Launcher& gpu) {
       for (int i = 0; i < 500; ++i) gpu.kernel(0, 7'000'000), gpu.kernel(1), gpu.kernel(2), gpu.wait();
     },
     500, 1, 3},
    {"a_warm_up_that_tries_kernels",
     [](Launcher& gpu) {
       for (int i = 0; i < 10; ++i) {
         for (int k = 0; k < 200; ++k) gpu.kernel(100 + static_cast<std::uint32_t>(gpu.below(60)));
       }
       for (int i = 0; i < 80; ++i) train(gpu), optimize(gpu);
     },
     80, 1, 24 * 6 + 1 + 8},
    {"sequences_that_grow",
     [](Launcher& gpu) {  // the attention of each 64 tokens has another shape
       for (std::uint32_t shape = 0; shape < 8; ++shape) gpu.is_shape_of(30 + shape, "attention");
       for (std::uint32_t i = 0; i < 512; ++i) {
         for (int layer = 0; layer < 12; ++layer)
           gpu.kernel(0), gpu.kernel(1), gpu.kernel(30 + i / 64), gpu.kernel(2);
         gpu.kernel(3);
         gpu.wait();
       }
     },
     512, 1, 49},
    {"two_networks_in_turn",
     [](Launcher& gpu) {  // a GAN: discriminator and generator
       for (int i = 0; i < 100; ++i) {
         gpu.layers(0, 6), gpu.layers(10, 6), gpu.kernel(40), gpu.wait();
         gpu.layers(20, 9), gpu.layers(30, 9), gpu.kernel(40), gpu.wait();
       }
     },
     100, 2, 12 * 3 + 1 + 18 * 3 + 1},
    {"an_early_end",
     [](Launcher& gpu) {
       for (int i = 0; i < 40; ++i) train(gpu), optimize(gpu);
       gpu.layers(0, 24);
     },
     40, 1, 24 * 6 + 1 + 8},
    {"a_log_after_each_10_steps",
     [](Launcher& gpu) {
       for (int i = 0; i < 200; ++i) {
         train(gpu);
         optimize(gpu);
         if (i % 10 == 0) gpu.kernel(70), gpu.kernel(71), gpu.wait();
       }
     },
     200, 2, 24 * 6 + 1 + 8},
    {"copies_that_come_before_or_after",
     [](Launcher& gpu) {  // the next batch, on a stream of its own
       for (int i = 0; i < 150; ++i) {
         const std::size_t when = gpu.below(20);
         for (std::size_t layer = 0; layer < 20; ++layer) {
           if (layer == when) gpu.kernel(80, 400'000, 9);
           gpu.kernel(0), gpu.kernel(1), gpu.kernel(2);
         }
         gpu.wait();
       }
     },
     150, 1, 61},
};

class StepsOf : public testing::TestWithParam<Program> {};

TEST_P(StepsOf, AreAsManyAsTheProgramMade) {
  for (const std::uint64_t seed : {1, 2, 3}) {
    Launcher gpu(seed);
    GetParam().run(gpu);
    const Steps steps = gpu.steps();
    ASSERT_TRUE(steps.were_found()) << steps.reason;
    EXPECT_NEAR(static_cast<double>(steps.steps.size()), static_cast<double>(GetParam().steps),
                static_cast<double>(GetParam().tolerance));
    EXPECT_EQ(steps.kinds[0].work, GetParam().work);
  }
}

INSTANTIATE_TEST_SUITE_P(Programs, StepsOf, testing::ValuesIn(kWithSteps),
                         [](const testing::TestParamInfo<Program>& each) { return each.param.name; });

// Work that has no steps, however its gaps are.
const Program kWithoutSteps[] = {
    {"a_loop_of_one_kernel",
     [](Launcher& gpu) {
       for (int i = 0; i < 1000; ++i) gpu.kernel(0);
     },
     0, 0, 0},
    {"kernels_at_random",
     [](Launcher& gpu) {
       for (int i = 0; i < 4000; ++i) gpu.kernel(static_cast<std::uint32_t>(gpu.below(30)));
     },
     0, 0, 0},
    {"a_server_whose_requests_differ",
     [](Launcher& gpu) {
       for (int i = 0; i < 300; ++i) {
         gpu.wait(static_cast<Time>(300'000 * gpu.exponential()));
         for (std::size_t token = 0; token < 1 + gpu.below(40); ++token)
           gpu.kernel(static_cast<std::uint32_t>(gpu.below(12)));
       }
     },
     0, 0, 0},
    {"kernels_that_are_tried_one_after_another",
     [](Launcher& gpu) {  // a compiler that tunes: each a few times
       for (std::uint32_t what = 0; what < 400; ++what) {
         for (std::size_t i = 0; i < 3 + gpu.below(4); ++i) gpu.kernel(what);
         gpu.wait();
       }
     },
     0, 0, 0},
    {"a_program_that_never_comes_back",
     [](Launcher& gpu) {
       for (std::uint32_t what = 0; what < 2000; ++what) gpu.kernel(what);
     },
     0, 0, 0},
    {"two_streams_at_random",
     [](Launcher& gpu) {
       for (int i = 0; i < 4000; ++i)
         gpu.kernel(static_cast<std::uint32_t>(gpu.below(15)),
                    10'000 + 1000 * static_cast<Time>(gpu.below(50)),
                    7 + static_cast<std::uint32_t>(gpu.below(2)));
     },
     0, 0, 0},
    {"a_walk_among_kernels",
     [](Launcher& gpu) {  // each has two that may follow
       std::uint32_t what = 0;
       for (int i = 0; i < 4000; ++i)
         gpu.kernel(what), what = static_cast<std::uint32_t>((what * 2 + gpu.below(2)) % 16);
     },
     0, 0, 0},
    {"a_search_of_changing_depth",
     [](Launcher& gpu) {  // bursts with a pause each, none like another
       for (int i = 0; i < 200; ++i) {
         gpu.wait(1'000'000);
         for (std::size_t k = 0; k < 5 + gpu.below(60); ++k)
           gpu.kernel(static_cast<std::uint32_t>(gpu.below(8)));
       }
     },
     0, 0, 0},
};

class NoStepsOf : public testing::TestWithParam<Program> {};

TEST_P(NoStepsOf, AreInvented) {
  for (const std::uint64_t seed : {1, 2, 3}) {
    Launcher gpu(seed);
    GetParam().run(gpu);
    const Steps steps = gpu.steps();
    EXPECT_FALSE(steps.were_found()) << steps.steps.size() << " of " << steps.kinds[0].work;
    EXPECT_FALSE(steps.reason.empty());
  }
}

INSTANTIATE_TEST_SUITE_P(Programs, NoStepsOf, testing::ValuesIn(kWithoutSteps),
                         [](const testing::TestParamInfo<Program>& each) { return each.param.name; });

// The interval of a step's median holds what the program would take without noise, though its kernels drift.
TEST(Steps, IntervalOfTheirMedianHoldsInProgramsThatDrift) {
  std::size_t held = 0;
  constexpr std::uint64_t kPrograms = 200;
  for (std::uint64_t seed = 1; seed <= kPrograms; ++seed) {
    MadeProgram program{.seed = seed, .steps = 300, .kernels = 6, .noise = 0.0};
    const double truth = steps_of(program).kinds.at(0).seconds;
    program.noise = 0.003;
    program.drift = 0.01;
    const StepKind found = steps_of(program).kinds.at(0);
    if (found.interval.low <= truth && truth <= found.interval.high) ++held;
  }
  EXPECT_GE(held, kPrograms * 93 / 100);
  EXPECT_LT(held, kPrograms);
}

std::vector<double> drifting(std::size_t size, double alike, Random& random) {
  std::vector<double> values{random.normal()};
  while (values.size() < size)
    values.push_back(alike * values.back() + std::sqrt(1 - alike * alike) * random.normal());
  return values;
}

// Blocks of steps tell how neighbours drift together: order statistics of all would be far too narrow.
TEST(MedianOfSeries, HoldsForSeriesWhoseNeighboursAreAlike) {
  constexpr std::size_t kTries = 500;
  Random random(5);
  for (const auto& [length, alike] :
       {std::pair(20u, 0.0), {100u, 0.5}, {300u, 0.0}, {300u, 0.9}, {2000u, 0.9}, {5000u, 0.95}}) {
    std::size_t held = 0;
    for (std::size_t attempt = 0; attempt < kTries; ++attempt) {
      const MedianOfSeries series = median_of_series(drifting(length, alike, random));
      if (series.interval.low <= 0.0 && 0.0 <= series.interval.high) ++held;
    }
    EXPECT_GE(held, kTries * 92 / 100) << length << " values, neighbours alike by " << alike;
    EXPECT_LT(held, kTries) << length << " values, neighbours alike by " << alike;
  }
}

// A level that changes once and stays, whichever side is the longer; what comes back or drifts is none.
TEST(LevelShift, IsAChangeThatStays) {
  Random random(7);
  const auto series = [&](std::initializer_list<std::pair<std::size_t, double>> levels,
                          double noise = 0.003) {
    std::vector<double> values;
    for (const auto& [count, level] : levels) {
      for (std::size_t i = 0; i < count; ++i) values.push_back(level * std::exp(noise * random.normal()));
    }
    return values;
  };
  for (const auto& [earlier, later, after] : {std::tuple(120u, 80u, 1.1),
                                              {80u, 120u, 1.1},
                                              {100u, 100u, 0.8},
                                              {30u, 170u, 0.95},
                                              {185u, 15u, 1.03}}) {
    const std::optional<LevelShift> shift = level_shift_of(series({{earlier, 1.0}, {later, after}}));
    ASSERT_TRUE(shift) << earlier;
    EXPECT_NEAR(static_cast<double>(shift->at), earlier, 1.0);
    EXPECT_NEAR(shift->change(), after - 1.0, 0.003);
    EXPECT_LT(shift->after.interval.high - shift->after.interval.low, 0.01);
  }
  EXPECT_FALSE(level_shift_of(series({{200, 1.0}})));
  EXPECT_FALSE(level_shift_of(series({{60, 1.0}, {60, 1.1}, {80, 1.0}})));
  EXPECT_FALSE(level_shift_of(series({{100, 1.0}, {100, 1.005}})));
  EXPECT_FALSE(level_shift_of(series({{100, 1.0}, {100, 1.1}}, 0.1)));
  std::vector<double> ramp = series({{300, 1.0}});
  for (std::size_t i = 0; i < ramp.size(); ++i) ramp[i] *= 1.0 + 0.1 * static_cast<double>(i) / 300.0;
  EXPECT_FALSE(level_shift_of(ramp));
}

TEST(LevelShift, IsRarelyFoundInSeriesThatDrift) {
  Random random(8);
  std::size_t found = 0;
  for (std::size_t attempt = 0; attempt < 200; ++attempt) {
    std::vector<double> values = drifting(400, 0.9, random);
    for (double& value : values) value = std::exp(0.01 * value);
    if (level_shift_of(values)) ++found;
  }
  EXPECT_LE(found, 4u);
}

TEST(ShareOfSeries, HoldsForSeriesWhoseNeighboursAreAlike) {
  constexpr std::size_t kTries = 300;
  Random random(6);
  for (const auto& [length, alike, truth] :
       {std::tuple(100u, 0.0, 0.3), {300u, 0.0, 0.7}, {300u, 0.9, 0.7}, {2000u, 0.9, 0.95}}) {
    std::size_t held = 0;
    for (std::size_t attempt = 0; attempt < kTries; ++attempt) {
      const std::vector<double> cause = drifting(length, alike, random),
                                other = drifting(length, alike, random);
      std::vector<double> values;
      for (std::size_t i = 0; i < length; ++i)
        values.push_back(std::sqrt(truth) * cause[i] + std::sqrt(1 - truth) * other[i]);
      const ShareOfSeries share = share_of_series(cause, values);
      if (share.interval.low <= truth && truth <= share.interval.high) ++held;
    }
    EXPECT_GE(held, kTries * 93 / 100) << length << " values, neighbours alike by " << alike;
    EXPECT_LT(held, kTries) << length << " values, neighbours alike by " << alike;
  }
}

}  // namespace
}  // namespace jitterscope::timeline
