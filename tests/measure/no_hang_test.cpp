// Whatever the device does, the loop ends, with the queue released.
#include <gmock/gmock.h>

#include <cmath>
#include <memory>

#include "base/random.hpp"
#include "jitterscope/error.hpp"
#include "measuring.hpp"

namespace jitterscope::scripted {
namespace {

template <class Value>
Value any_of(Random& random, std::initializer_list<Value> values) {
  return values.begin()[random.below(values.size())];
}

std::function<Nanoseconds(const LaunchContext&)> any_launch_time(Random& random) {
  const double base = std::pow(10.0, random.uniform(3.0, 9.0));
  const double deviation = any_of(random, {0.0, 0.001, 0.05, 0.5});
  const double drift = any_of(random, {0.0, 0.0, 0.1});
  auto noise = std::make_shared<Random>(random.next());
  return [=](const LaunchContext& context) {
    const double cold = context.cache == CacheState::warm ? 1.0 : 1.3;
    const double factor = 1.0 + deviation * noise->normal() + drift * to_seconds(context.time);
    return Nanoseconds(base * cold * std::max(factor, 0.0));
  };
}

Script any_script(Random& random) {
  Script script;
  script.launch_time = any_launch_time(random);
  script.grain = Nanoseconds(any_of(random, {0.0, 1.0, 32.0, 1000.0, 1e6}));
  script.events_constant = Nanoseconds(any_of(random, {0.0, 2e3, 5e4}));
  script.launch_cost = [cost = any_of(random, {0.0, 2e3, 1e6})](auto) { return Nanoseconds(cost); };
  script.can_record = random.below(4) > 0;
  script.lost_records = random.below(8) == 0 ? 1 : 0;
  if (random.below(2) == 0) {
    script.clock = [seed = random.next()](Nanoseconds time) {
      Random state(seed + static_cast<std::uint64_t>(time.value() / 20e6));
      return megahertz(state.uniform(1200, 1980));
    };
  }
  if (random.below(3) == 0) {
    const Call call = any_of(random, {Call::launch, Call::mark, Call::wait, Call::wait_for, Call::elapsed,
                                      Call::stamp, Call::set_cache, Call::sensors, Call::hold});
    script.failure = Failure{call, static_cast<std::int64_t>(random.below(3000))};
  }
  // One launch may last seconds, and a round holds a few: generous, but far from endless.
  script.time_limit = seconds(2000);
  return script;
}

MeasureOptions any_options(Random& random) {
  MeasureOptions options;
  options.queue =
      any_of(random, {QueueMode::saturated, QueueMode::saturated, QueueMode::eager, QueueMode::graph});
  if (random.below(3) == 0) {
    options.instrument =
        any_of(random, {Instrument::events, Instrument::graph, Instrument::cupti, Instrument::host});
  }
  options.precision = any_of(random, {1e-6, 0.005, 0.1});
  options.minimum_rounds = any_of<std::int64_t>(random, {1, 10, 100});
  options.conditioning_launches = any_of<std::int64_t>(random, {0, 2, 10});
  options.caches = {any_of(random, {CacheState::warm, CacheState::cold}), CacheState::produced};
  options.time_limit = seconds(random.uniform(0.0, 1.0));
  options.sustained_time_limit = seconds(random.uniform(0.0, 2.0));
  options.warm_up = random.below(3) > 0;
  options.seed = random.next();
  return options;
}

// Calibration needs recordings, and only the tracer loses records.
bool may_fail(const Script& script, const MeasureOptions& options) {
  const bool loses = script.lost_records > 0 && options.instrument == Instrument::cupti;
  return script.failure || !script.can_record || loses;
}

TEST(Loop, EndsWithTheGateOpenForAnyScript) {
  int measured = 0;
  for (std::uint64_t seed = 0; seed < 150; ++seed) {
    Random random(seed);
    const Script script = any_script(random);
    ScriptedDevice device(script);
    const MeasureOptions options = any_options(random);
    try {
      const auto operation = device.prepare(some_operation(), InputData());
      const Result result = Session(device).measure(*operation, "operation", options);
      for (const Measurement& measurement : result.measurements) {
        EXPECT_FALSE(measurement.rounds.empty());
        EXPECT_TRUE(std::isfinite(measurement.time.median.value())) << "seed " << seed;
        EXPECT_LE(measurement.time.low, measurement.time.high) << "seed " << seed;
      }
      ++measured;
    } catch (const FailedError& error) {
      EXPECT_TRUE(may_fail(script, options)) << "seed " << seed << ": " << error.what();
    } catch (const std::logic_error& error) {
      ADD_FAILURE() << "seed " << seed << ": " << error.what();
    }
    EXPECT_FALSE(device.state().is_held) << "seed " << seed;
  }
  // A quarter of the scripts cannot be recorded, and some of the failures come too late to be met.
  EXPECT_GE(measured, 90);
}

}  // namespace
}  // namespace jitterscope::scripted
