#include <gmock/gmock.h>

#include "base/random.hpp"
#include "measuring.hpp"

namespace jitterscope::scripted {
namespace {

MeasureOptions burst_of(CacheState cache) { return one_condition(cache, Load::burst); }

// Each launch on its own noise around a level that depends on the cache.
std::function<Nanoseconds(const LaunchContext&)> noisy_launches(double cold_deviation) {
  auto random = std::make_shared<Random>(7);
  return [random, cold_deviation](const LaunchContext& context) {
    const bool cold = context.cache == CacheState::cold;
    return microseconds((cold ? 130.0 : 100.0) * (1.0 + (cold ? cold_deviation : 0.0005) * random->normal()));
  };
}

// A time that is another one in each 30 ms: rounds differ, launches within a round do not.
std::function<Nanoseconds(const LaunchContext&)> unlike_rounds(double deviation) {
  return [deviation](const LaunchContext& context) {
    Random random(static_cast<std::uint64_t>(context.time.value() / 30e6));
    return microseconds(100.0 * (1.0 + deviation * random.normal()));
  };
}

TEST(Burst, QuietDeviceStopsAtTheLeastNumberOfRounds) {
  Laboratory laboratory;
  const Result result = laboratory.measure(burst_of(CacheState::warm));
  ASSERT_EQ(result.measurements.size(), 1u);
  const Measurement& measurement = result.measurements.front();
  EXPECT_EQ(measurement.rounds.size(), 10u);
  EXPECT_EQ(measurement.stop_reason, StopReason::precision);
  EXPECT_NEAR(measurement.time.median.value(), 100e3, 100.0);
  EXPECT_LE(measurement.repeatability.precision(), 0.005);
}

TEST(Burst, MinimumRoundsAreKept) {
  Laboratory laboratory;
  MeasureOptions options = burst_of(CacheState::warm);
  options.minimum_rounds = 23;
  EXPECT_EQ(laboratory.measure(options).measurements.front().rounds.size(), 23u);
}

TEST(Burst, NoisyDeviceGoesOnToTheTimeLimit) {
  Script script;
  script.launch_time = unlike_rounds(0.2);
  Laboratory laboratory(script);
  const Result result = laboratory.measure(burst_of(CacheState::warm));
  const Measurement& measurement = result.measurements.front();
  EXPECT_EQ(measurement.stop_reason, StopReason::time_limit);
  EXPECT_GT(measurement.time.precision(), 0.005);
  EXPECT_GE(measurement.duration, seconds(3));
  EXPECT_LE(measurement.duration, seconds(3.2));
  EXPECT_GT(measurement.rounds.size(), 30u);
}

// A clock that depends on when work came last, and for how long it has come since.
struct WorkSeen {
  Nanoseconds last = Nanoseconds(-1e12),
              first = Nanoseconds(-1e12);  ///< launch, and of those without a pause
  Nanoseconds rest = {};                   ///< before the first

  void launch(Nanoseconds time) {
    if (time - last > milliseconds(5)) {
      rest = time - last;
      first = time;
    }
    last = time;
  }
};

Script with_clock_by_work(const std::function<Hertz(const WorkSeen&, Nanoseconds time)>& clock) {
  auto seen = std::make_shared<WorkSeen>();
  Script script;
  script.clock = [seen, clock](Nanoseconds time) { return clock(*seen, time); };
  script.launch_time = [seen, clock](const LaunchContext& context) {
    seen->launch(context.time);
    return microseconds(100.0 * 1980e6 / clock(*seen, context.time).value());
  };
  return script;
}

// 1200 MHz behind an idle of more than 35 ms, and 1980 after 70 ms of work: a round's clock is 1670 MHz.
Script with_sleeping_clock() {
  return with_clock_by_work([](const WorkSeen& seen, Nanoseconds time) {
    if (seen.rest < milliseconds(35)) return megahertz(1980);
    return megahertz(std::min(1980.0, 1200.0 + 780.0 * ((time - seen.first) / milliseconds(70))));
  });
}

TEST(Burst, AClockThatSleepsALittleIsWoken) {
  Laboratory laboratory(with_sleeping_clock());
  const Measurement measurement = laboratory.measure(burst_of(CacheState::warm)).measurements.front();
  ASSERT_TRUE(measurement.sleeping_clock);
  EXPECT_GE(measurement.sleeping_clock->woken_for, milliseconds(40));
  EXPECT_NEAR(measurement.time.median.value(), 100e3, 500.0);
}

// The rounds so far are discarded only for others that come.
TEST(Burst, AnInterruptionWhileTheClockSleepsKeepsTheRounds) {
  for (int last = 1; last <= 12; ++last) {
    Laboratory laboratory(with_sleeping_clock());
    MeasureOptions options = burst_of(CacheState::warm);
    int told = 0;
    options.progress = [&](const Progress&) { ++told; };
    options.interrupted = [&] { return told >= last; };
    const Result result = laboratory.measure(options);
    ASSERT_FALSE(result.measurements.empty()) << "interrupted behind round " << last;
    EXPECT_EQ(result.measurements.front().stop_reason, StopReason::interrupted);
  }
}

// What power holds is the lower the less it rests: no work before a round would raise it.
TEST(Burst, AClockThatIsHeldBehindShortIdlesIsNotAsleep) {
  Laboratory laboratory(with_clock_by_work([](const WorkSeen& seen, Nanoseconds) {
    return megahertz(seen.rest < milliseconds(40) ? 1600 : 1980);
  }));
  const Measurement measurement = laboratory.measure(burst_of(CacheState::warm)).measurements.front();
  EXPECT_FALSE(measurement.sleeping_clock);
}

TEST(Burst, PreciseMeasurementsStopWhileOthersGoOn) {
  Script script;
  auto random = std::make_shared<Random>(5);
  script.launch_time = [random, level = 1.0](const LaunchContext& context) mutable {
    if (context.cache != CacheState::cold) return microseconds(100);
    if (context.index % 20 == 0) level = 1.0 + 0.1 * random->normal();
    return microseconds(130 * level);
  };
  Laboratory laboratory(script);
  MeasureOptions options;
  options.loads = {Load::burst};
  const Result result = laboratory.measure(options);
  ASSERT_EQ(result.measurements.size(), 2u);
  EXPECT_EQ(result.measurements[0].rounds.size(), 10u);
  EXPECT_EQ(result.measurements[0].stop_reason, StopReason::precision);
  EXPECT_EQ(result.measurements[1].stop_reason, StopReason::time_limit);
  EXPECT_GT(result.measurements[1].rounds.size(), 10u);
}

TEST(Burst, CacheStatesAreToldApart) {
  Script script;
  script.launch_time = noisy_launches(0.0005);
  Laboratory laboratory(script);
  MeasureOptions options;
  options.loads = {Load::burst};
  const Result result = laboratory.measure(options);
  EXPECT_EQ(result.measurements[0].conditions.cache, CacheState::warm);
  EXPECT_NEAR(result.measurements[0].time.median.value(), 100e3, 150.0);
  EXPECT_EQ(result.measurements[1].conditions.cache, CacheState::cold);
  EXPECT_NEAR(result.measurements[1].time.median.value(), 130e3, 150.0);
}

TEST(Burst, LaunchesTooLongForTheLimitStillGiveAnInterval) {
  Script script;
  Laboratory laboratory(script);
  laboratory.device.script().launch_time = [](const auto&) { return milliseconds(450); };
  const Result result = laboratory.measure(burst_of(CacheState::warm));
  EXPECT_EQ(result.measurements.front().stop_reason, StopReason::time_limit);
  EXPECT_GE(result.measurements.front().rounds.size(), 6u);
}

TEST(Burst, VeryLongLaunchesStopAtTwiceTheLimitAndClaimNoPrecision) {
  Laboratory laboratory;
  laboratory.device.script().launch_time = [](const auto&) { return seconds(5); };
  const Result result = laboratory.measure(burst_of(CacheState::warm));
  const Measurement& measurement = result.measurements.front();
  EXPECT_EQ(measurement.stop_reason, StopReason::time_limit);
  EXPECT_LT(measurement.rounds.size(), 6u);
  EXPECT_GT(measurement.time.precision(), 1.0);
}

std::vector<Nanoseconds> idles_of(const std::vector<LoggedCall>& log) {
  std::vector<Nanoseconds> idles;
  for (const LoggedCall& logged : log) {
    if (logged.call == Call::idle) idles.push_back(logged.amount);
  }
  return idles;
}

TEST(Burst, IdleIsRandomWithinItsLimits) {
  Laboratory laboratory;
  MeasureOptions options = burst_of(CacheState::warm);
  options.minimum_rounds = 40;
  const Result result = laboratory.measure(options);
  const std::vector<Nanoseconds> idles = idles_of(laboratory.device.log());
  ASSERT_EQ(idles.size(), 40u);
  const auto [shortest, longest] = std::minmax_element(idles.begin(), idles.end());
  EXPECT_GE(*shortest, options.shortest_idle);
  EXPECT_LE(*longest, options.longest_idle);
  EXPECT_GT(*longest - *shortest, milliseconds(30));
  for (std::size_t i = 0; i < idles.size(); ++i) {
    EXPECT_EQ(result.measurements.front().rounds[i].idle_before, idles[i]);
  }
}

// A host that has slept launches slower for more than 100 ms.
TEST(Burst, WhereTheHostIsTimedItStaysAwakeAndWarmsItsCaches) {
  const auto rests = [](QueueMode queue, std::optional<Instrument> instrument) {
    Laboratory laboratory;
    MeasureOptions options = burst_of(CacheState::warm);
    options.queue = queue;
    options.instrument = instrument;
    laboratory.device.log().clear();
    laboratory.measure(options);
    std::vector<Call> calls;
    for (const LoggedCall& logged : laboratory.device.log()) {
      if (logged.call == Call::idle || logged.call == Call::idle_awake) calls.push_back(logged.call);
    }
    return calls;
  };
  EXPECT_THAT(rests(QueueMode::saturated, std::nullopt), testing::Each(Call::idle));
  EXPECT_THAT(rests(QueueMode::graph, std::nullopt), testing::Each(Call::idle))
      << "slopes of recordings are the GPU's";
  for (const QueueMode queue : {QueueMode::eager, QueueMode::graph}) {
    EXPECT_THAT(rests(queue, Instrument::events),
                testing::AllOf(testing::Not(testing::IsEmpty()), testing::Each(Call::idle_awake)));
  }
  EXPECT_THAT(rests(QueueMode::saturated, Instrument::host), testing::Each(Call::idle_awake));
}

TEST(Burst, BehindARestLaunchesAreNotReadForTenMilliseconds) {
  Laboratory laboratory;
  laboratory.device.script().launch_time = [](const auto&) { return milliseconds(1); };
  MeasureOptions options = burst_of(CacheState::warm);
  options.queue = QueueMode::eager;
  laboratory.device.log().clear();
  laboratory.measure(options);
  const std::vector<LoggedCall>& log = laboratory.device.log();
  const auto rest = std::ranges::find(log, Call::idle_awake, &LoggedCall::call);
  ASSERT_NE(rest, log.end());
  const auto stamp = std::find_if(rest, log.end(), [](const auto& each) { return each.call == Call::stamp; });
  EXPECT_GE(std::count_if(rest, stamp, [](const auto& each) { return each.call == Call::launch; }), 10 + 2);
}

// The cache state of each set_cache, which tells whose round it was, with the idles between.
std::vector<double> sequence(std::uint64_t seed) {
  Laboratory laboratory;
  MeasureOptions options;
  options.loads = {Load::burst};
  options.seed = seed;
  laboratory.device.log().clear();
  laboratory.measure(options);
  std::vector<double> order;
  for (const LoggedCall& logged : laboratory.device.log()) {
    if (logged.call == Call::idle) order.push_back(logged.amount.value());
    if (logged.call == Call::set_cache) order.push_back(static_cast<double>(logged.cache));
  }
  return order;
}

TEST(Burst, SameSeedGivesTheSameSequence) {
  EXPECT_EQ(sequence(3), sequence(3));
  EXPECT_NE(sequence(3), sequence(4));
}

TEST(Burst, OrderOfMeasurementsIsDrawnAnewForEachVisit) {
  Laboratory laboratory;
  MeasureOptions options;
  options.loads = {Load::burst};
  options.minimum_rounds = 40;
  const Result result = laboratory.measure(options);
  // One idle for both measurements of a visit.
  EXPECT_EQ(count_of(laboratory.device.log(), Call::idle), 40);
  int warm_first = 0;
  for (std::size_t i = 0; i < 40; ++i) {
    warm_first += result.measurements[0].rounds[i].started < result.measurements[1].rounds[i].started;
  }
  EXPECT_GT(warm_first, 8);
  EXPECT_LT(warm_first, 32);
}

TEST(Burst, InterruptionKeepsTheRoundsSoFar) {
  for (const std::int64_t wanted : {1, 4, 13}) {
    Script script;
    script.launch_time = unlike_rounds(0.2);
    Laboratory laboratory(script);
    MeasureOptions options = burst_of(CacheState::warm);
    std::int64_t rounds = 0;
    options.progress = [&](const Progress& progress) { rounds = progress.rounds; };
    options.interrupted = [&] { return rounds >= wanted; };
    const Result result = laboratory.measure(options);
    ASSERT_EQ(result.measurements.size(), 1u);
    EXPECT_EQ(std::ssize(result.measurements.front().rounds), wanted);
    EXPECT_EQ(result.measurements.front().stop_reason, StopReason::interrupted);
    EXPECT_EQ(result.measurements.front().time.rounds, wanted);
  }
}

TEST(Burst, InterruptionBetweenRoundsKeepsTheMeasurementThatHasARound) {
  Laboratory laboratory;
  MeasureOptions options;
  bool stop = false;
  options.progress = [&](const Progress&) { stop = true; };
  options.interrupted = [&] { return stop; };
  const Result result = laboratory.measure(options);
  ASSERT_EQ(result.measurements.size(), 1u);
  EXPECT_EQ(result.measurements.front().rounds.size(), 1u);
}

TEST(Burst, ProgressTellsWhatIsKnown) {
  Laboratory laboratory;
  MeasureOptions options = burst_of(CacheState::warm);
  std::vector<Progress> reports;
  options.progress = [&](const Progress& progress) { reports.push_back(progress); };
  laboratory.measure(options);
  ASSERT_EQ(reports.size(), 10u);
  EXPECT_EQ(reports.front().operation, "operation");
  EXPECT_EQ(reports.front().rounds, 1);
  EXPECT_GT(reports.front().precision, 1.0);
  EXPECT_LE(reports.back().precision, 0.005);
  EXPECT_LT(reports.back().time_left, reports.front().time_left);
}

}  // namespace
}  // namespace jitterscope::scripted
