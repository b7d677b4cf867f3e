// What loops of launches say: only what was measured, and only what goes the way of the change.
#include <gmock/gmock.h>

#include "finding/simulated.hpp"

namespace jitterscope {
namespace {

using testing::HasSubstr;
using testing::Not;

IterationRun loop(std::int64_t count, double first_us, double rest_us, double first_call_us = 1) {
  IterationRun run;
  run.count = count;
  run.first = microseconds(first_us);
  run.maximum = std::max(run.first, microseconds(rest_us));
  run.minimum = run.median = microseconds(count == 1 ? first_us : rest_us);
  run.mean = microseconds((first_us + rest_us * static_cast<double>(count - 1)) / static_cast<double>(count));
  run.first_launch_call = microseconds(first_call_us);
  run.host_time = run.mean;
  return run;
}

Measurement burst(CacheState cache, double time_us) {
  Measurement measurement;
  measurement.conditions.cache = cache;
  measurement.time = {microseconds(time_us), microseconds(time_us), microseconds(time_us), 10};
  return measurement;
}

Finding finding_of(std::vector<IterationRun> runs, std::vector<Measurement> measurements = {},
                   double launch_cost_us = 1, bool on_gpu = true) {
  Result result;
  result.subject = Operation(Conv2d{});
  result.iterations = std::move(runs);
  result.measurements = std::move(measurements);
  result.launch_cost = microseconds(launch_cost_us);
  const auto found = simulated::with_id(find_all(result, simulated::context(on_gpu)), "iteration_count");
  return found.size() == 1 ? found[0] : Finding();
}

std::string sentence_of(const std::vector<IterationRun>& runs,
                        const std::vector<Measurement>& measurements = {}, double launch_cost_us = 1,
                        bool on_gpu = true) {
  return finding_of(runs, measurements, launch_cost_us, on_gpu).sentence;
}

// In a loop of one launch the first launch is its median as well: it is compared with the longest loop's.
TEST(IterationCount, OneTimeWorkIsTheFirstLaunchsCall) {
  for (const std::int64_t longest : {10, 1000}) {
    std::vector<IterationRun> runs = {loop(1, 20100, 0, 20000), loop(longest, 80, 80)};
    runs[1].clocks = {{1, megahertz(1967)}, {longest, megahertz(1850)}};
    const std::string sentence = sentence_of(runs);
    EXPECT_THAT(sentence, HasSubstr("The first launch of all takes 20.1 ms, later ones 80.0 µs"));
    EXPECT_THAT(sentence, HasSubstr("its launch call takes the host 20.0 ms"));
    EXPECT_THAT(sentence, Not(HasSubstr("falls")));  // a falling clock makes nothing faster
    EXPECT_THAT(sentence, Not(HasSubstr("not explained")));
  }
}

TEST(IterationCount, AUsualOrImpossibleCallIsNoReason) {
  EXPECT_THAT(sentence_of({loop(1, 120, 80, 1), loop(1000, 80, 80)}), Not(HasSubstr("launch call")));
  EXPECT_THAT(sentence_of({loop(1, 1.5, 1, 4), loop(1000, 1, 1)}), Not(HasSubstr("launch call")));
}

TEST(IterationCount, OnACpuTheCallIsTheWorkAndNothingIsSaidOfAGpu) {
  const std::string sentence = sentence_of({loop(1, 900, 0, 900), loop(100, 90, 80, 90)}, {}, 80, false);
  EXPECT_THAT(sentence, HasSubstr("The first launch of all takes 900 µs"));
  EXPECT_THAT(sentence, HasSubstr("not explained by what was measured"));
  EXPECT_THAT(sentence, Not(HasSubstr("GPU")));
  EXPECT_THAT(sentence, Not(HasSubstr("host")));
}

TEST(IterationCount, ColdCachesAreNamedOnlyWhereTheyWereMeasured) {
  const std::vector<IterationRun> runs = {loop(1, 120, 80), loop(1000, 120, 80)};
  const std::string unknown = sentence_of(runs);
  EXPECT_THAT(unknown, HasSubstr("the difference is not explained by what was measured"));
  EXPECT_THAT(unknown, HasSubstr("--cache warm,cold"));
  const std::string known = sentence_of(runs, {burst(CacheState::warm, 80), burst(CacheState::cold, 118)});
  EXPECT_THAT(known, HasSubstr("cold caches add 38.0 µs, measured apart"));
  EXPECT_THAT(known, Not(HasSubstr("not explained")));
  const std::string part = sentence_of(runs, {burst(CacheState::warm, 80), burst(CacheState::cold, 90)});
  EXPECT_THAT(part, HasSubstr("the other 30.0 µs are not explained by what was measured."));
}

TEST(IterationCount, ALongFirstLaunchIsSaidAsAFactorAndNotAsHundredPercentLess) {
  EXPECT_THAT(sentence_of({loop(1, 20000, 20000), loop(100, 6, 4)}), HasSubstr("(1/4975)"));
  EXPECT_THAT(sentence_of({loop(1, 20, 20), loop(100, 4, 4)}), HasSubstr("(1/5)"));
  EXPECT_THAT(sentence_of({loop(1, 8, 8), loop(100, 4, 4)}), HasSubstr("(1/2)"));
}

TEST(IterationCount, ARisingClockMakesItFasterAndACapMakesItSlower) {
  std::vector<IterationRun> faster = {loop(10, 100, 100), loop(1000, 100, 80)};
  faster[1].clocks = {{1, megahertz(1200)}, {1000, megahertz(1700)}};
  faster[1].throttled_power = faster[1].host_time * 300.0;
  EXPECT_THAT(sentence_of(faster), HasSubstr("rises from 1200 MHz to 1700 MHz"));
  EXPECT_THAT(sentence_of(faster), Not(HasSubstr("power cap")));
  std::vector<IterationRun> slower = {loop(10, 80, 80), loop(1000, 80, 100)};
  slower[1].clocks = {{1, megahertz(1900)}, {1000, megahertz(1500)}};
  slower[1].throttled_power = slower[1].host_time * 300.0;
  EXPECT_THAT(sentence_of(slower), HasSubstr("falls from 1900 MHz to 1500 MHz"));
  EXPECT_THAT(sentence_of(slower), HasSubstr("The power cap limits the clock for 30 % of the longest loop"));
}

TEST(IterationCount, AChangeWithoutAMeasuredReasonIsSaidToHaveNone) {
  EXPECT_THAT(sentence_of({loop(10, 80, 80), loop(1000, 80, 100)}), HasSubstr("do not show why"));
}

// The wall time of a loop is the GPU's where the queue is full: the host's part is what a call takes.
TEST(IterationCount, TheHostIsSlowOnlyWhereItsCallsAre) {
  std::vector<IterationRun> runs = {loop(10, 25, 25), loop(1000, 25, 25)};
  runs[1].host_time = microseconds(40);
  const std::vector<Measurement> warm = {burst(CacheState::warm, 20)};
  EXPECT_THAT(sentence_of(runs, warm, 4), Not(HasSubstr("host")));
  EXPECT_THAT(sentence_of(runs, warm, 24),
              HasSubstr("A launch call takes the host 24.0 µs, more than the 20.0 µs"));
}

TEST(IterationCount, TheRemedySpeaksOfNoGate) {
  Measurement eager = burst(CacheState::warm, 80);
  eager.conditions.queue = QueueMode::eager;
  EXPECT_THAT(finding_of({loop(1, 120, 80), loop(10, 120, 80)}, {eager}).remedy, Not(HasSubstr("gate")));
}

TEST(IterationCount, NoDependenceIsSaidToo) {
  EXPECT_THAT(sentence_of({loop(10, 80, 80), loop(1000, 80, 80)}), HasSubstr("hardly depends"));
  EXPECT_THAT(sentence_of({loop(1, 80, 80)}), HasSubstr("A loop of 1 took 80.0 µs"));
  EXPECT_EQ(sentence_of({}), "");
}

}  // namespace
}  // namespace jitterscope
