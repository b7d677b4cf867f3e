#include <gmock/gmock.h>

#include "base/random.hpp"
#include "measure/trials.hpp"
#include "measuring.hpp"

namespace jitterscope::scripted {
namespace {

using testing::AllOf;
using testing::Ge;
using testing::Le;

Operation add_of(std::int64_t count) {
  return Operation(Elementwise{.kind = ElementwiseKind::add, .count = count});
}

const std::vector<Operation> kThree = {add_of(1000), add_of(2000), add_of(3000)};

// In this test the number of elements is the time in microseconds, and `unsteady` has noise from round to
// round.
Script timed_by_count(std::int64_t unsteady = 0) {
  Script script;
  script.launch_time = [unsteady](const LaunchContext& context) {
    const auto* add =
        context.operation ? std::get_if<Elementwise>(&context.operation->parameters()) : nullptr;
    const double count = add ? static_cast<double>(add->count) : 100.0;
    Random random(static_cast<std::uint64_t>(context.time.value() / 30e6));
    const double noise = add && add->count == unsteady ? 0.2 * random.normal() : 0.0;
    return microseconds(count * 0.1 * (1.0 + noise));
  };
  return script;
}

MeasureOptions bursts() {
  MeasureOptions options;
  options.loads = {Load::burst};
  return options;
}

struct Group {
  explicit Group(Script script) : laboratory(std::move(script)) { laboratory.device.log().clear(); }

  std::vector<Outcome> measure(const std::vector<Operation>& operations, const MeasureOptions& options) {
    return measure_trials(laboratory.session, trials_of(operations, options), false);
  }
  std::int64_t idles() { return count_of(laboratory.device.log(), Call::idle); }

  Laboratory laboratory;
};

TEST(SeveralOperations, EachHasItsOwnTimesAndName) {
  Group group(timed_by_count());
  const std::vector<Outcome> outcomes = group.measure(kThree, bursts());
  ASSERT_EQ(outcomes.size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) {
    const Result& result = outcomes[i].result;
    EXPECT_EQ(result.subject, Subject(kThree[i]));
    ASSERT_EQ(result.measurements.size(), 2u);
    EXPECT_NEAR(result.measurements[0].time.median.value(), 100e3 * static_cast<double>(i + 1), 200.0);
    EXPECT_EQ(result.measurements[1].conditions.cache, CacheState::cold);
  }
}

TEST(SeveralOperations, ShortRoundsShareAnIdle) {
  Group group(timed_by_count());
  MeasureOptions options = bursts();
  options.caches = {CacheState::warm};
  group.measure(kThree, options);
  // Three rounds of 4 to 6 ms last less than the mean idle of 40 ms.
  EXPECT_EQ(group.idles(), 10);
}

TEST(SeveralOperations, LongRoundsHaveAnIdleEach) {
  Group group(timed_by_count());
  MeasureOptions options = bursts();
  options.caches = {CacheState::warm};
  // A launch of 50 ms is a round, and longer than the mean idle.
  group.measure({add_of(500'000), add_of(500'001)}, options);
  EXPECT_EQ(group.idles(), 20);
}

TEST(SeveralOperations, NoneAlwaysComesFirst) {
  Group group(timed_by_count());
  MeasureOptions options = bursts();
  options.caches = {CacheState::warm};
  options.minimum_rounds = 60;
  const std::vector<Outcome> outcomes = group.measure(kThree, options);
  for (const Outcome& outcome : outcomes) {
    const auto& rounds = outcome.result.measurements.front().rounds;
    const auto first =
        std::ranges::count_if(rounds, [](const Round& round) { return round.idle_before > Nanoseconds(0); });
    EXPECT_THAT(first, AllOf(Ge(8), Le(35)));
  }
}

TEST(SeveralOperations, WhoIsPreciseLeavesTheOthersTheirTimeLimit) {
  Group group(timed_by_count(2000));
  const std::vector<Outcome> outcomes = group.measure(kThree, bursts());
  EXPECT_EQ(outcomes[0].result.measurements[0].rounds.size(), 10u);
  EXPECT_EQ(outcomes[2].result.measurements[0].rounds.size(), 10u);
  const Measurement& unsteady = outcomes[1].result.measurements[0];
  EXPECT_EQ(unsteady.stop_reason, StopReason::time_limit);
  // Its own rounds and the idles before them, not those of the others.
  EXPECT_GE(unsteady.duration, bursts().time_limit);
  EXPECT_LE(unsteady.duration, bursts().time_limit + milliseconds(150));
}

TEST(SeveralOperations, InterruptionKeepsWhatEachHas) {
  Group group(timed_by_count());
  MeasureOptions options = bursts();
  int reports = 0;
  options.progress = [&](const Progress&) { ++reports; };
  options.interrupted = [&] { return reports >= 3; };
  const std::vector<Outcome> outcomes = group.measure(kThree, options);
  std::size_t rounds = 0;
  for (const Outcome& outcome : outcomes) {
    for (const Measurement& measurement : outcome.result.measurements) {
      EXPECT_EQ(measurement.stop_reason, StopReason::interrupted);
      rounds += measurement.rounds.size();
    }
  }
  EXPECT_EQ(rounds, 3u);
}

TEST(SeveralOperations, NothingIsPreparedAfterAnInterruption) {
  Group group(timed_by_count());
  MeasureOptions options = bursts();
  options.interrupted = [] { return true; };
  for (const Outcome& outcome : group.measure(kThree, options)) {
    EXPECT_FALSE(outcome.error);
    EXPECT_THAT(outcome.result.measurements, testing::IsEmpty());
  }
  EXPECT_EQ(count_of(group.laboratory.device.log(), Call::launch), 0);
}

TEST(SeveralOperations, OneThatCannotBePreparedIsAloneInThat) {
  Script script = timed_by_count();
  script.missing_types = {DataType::f16};
  Group group(script);
  const Operation missing(Elementwise{.kind = ElementwiseKind::add, .count = 10, .dtype = DataType::f16});
  for (const std::size_t place : {0u, 1u}) {
    std::vector<Operation> operations = {add_of(1000), add_of(2000)};
    operations.insert(operations.begin() + static_cast<std::ptrdiff_t>(place), missing);
    const std::vector<Outcome> outcomes = group.measure(operations, bursts());
    for (std::size_t i = 0; i < 3; ++i) {
      EXPECT_EQ(outcomes[i].error.has_value(), i == place);
      EXPECT_EQ(outcomes[i].result.measurements.size(), i == place ? 0u : 2u);
    }
  }
}

TEST(SeveralOperations, AFailureWhileMeasuringCostsOnlyWhatFails) {
  Group group(timed_by_count());
  // One reading of the sensors fails: measured again alone, all three have their times.
  group.laboratory.device.script().failure =
      Failure{Call::sensors, group.laboratory.device.state().counts[Call::sensors] + 4};
  const std::vector<Outcome> outcomes = group.measure(kThree, bursts());
  for (const Outcome& outcome : outcomes) {
    EXPECT_FALSE(outcome.error);
    EXPECT_EQ(outcome.result.measurements.size(), 2u);
  }
}

TEST(SeveralOperations, NothingIsSharedWithoutIdlesOrBeforeAFirstLaunch) {
  MeasureOptions options = bursts();
  EXPECT_EQ(measured_at_once(options), 3u);
  options.iterations = {1, 10};
  EXPECT_EQ(measured_at_once(options), 1u);
  options.iterations = {};
  options.loads = {Load::burst, Load::sustained};
  EXPECT_EQ(measured_at_once(options), 1u);
}

}  // namespace
}  // namespace jitterscope::scripted
