#include "cli/simulation_time.hpp"

#include <algorithm>
#include <cmath>
#include <variant>

#include <fmt/format.h>

#include "base/quantity_text.hpp"
#include "measure/schedule.hpp"
#include "measure/steadiness.hpp"

namespace jitterscope::cli {
namespace {

// Measured with 14 operations on virtual:h200, bursts and sustained loads, on a core of an AMD EPYC: 0.4 µs
// for a launch of 1 µs, 1.6 µs for one of 30 µs; 30 to 70 µs for a round; 10 to 20 ms to start.
constexpr TimeRange kLaunch{Nanoseconds(300), microseconds(2)};
constexpr Nanoseconds kMostOfShortLaunch(600);
constexpr TimeRange kSimulatedRound{microseconds(15), microseconds(100)};
// Starting the program, calibrating, and opening a device; ceilings too.
constexpr TimeRange kStart{milliseconds(8), milliseconds(60)};
constexpr TimeRange kEachOperation{milliseconds(0.3), milliseconds(5)};
// A round of launches shorter than that lasts about this long.
constexpr Nanoseconds kRoundTime = milliseconds(5);
constexpr TimeRange kSustainedTime{seconds(1.3), {}};
constexpr double kFewTraced = 100.0;  // launches for tracing, counting and verifying

void add(TimeRange& sum, const TimeRange& more, double times) {
  sum.least += more.least * times;
  sum.most += more.most * times;
}

// Returns how long a launch is on the fastest and the slowest GPU that is simulated.
TimeRange launch_time(const Operation& operation) {
  constexpr Nanoseconds kShortest(900), kUsual = microseconds(5);
  constexpr double kMostBytes = 8e12, kFewestBytes = 1e12, kMostFlops = 2e15, kFewestFlops = 1e13,
                   kFewestFlopsOfTensorCores = 5e13;
  const DataType dtype = operation.dtype();
  const double fewest_flops =
      dtype == DataType::f32 || dtype == DataType::f64 ? kFewestFlops : kFewestFlopsOfTensorCores;
  if (const auto* spin = std::get_if<Spin>(&operation.parameters())) {
    const Nanoseconds own(static_cast<double>(spin->amount));
    return {std::max(kShortest, own * 0.5), own * 2.0 + kUsual};
  }
  const auto bytes = static_cast<double>(operation.bytes().value());
  const double flops = operation.flops();
  return {std::max(kShortest, seconds(std::max(bytes / kMostBytes, flops / kMostFlops))),
          kUsual + seconds(bytes / kFewestBytes + flops / fewest_flops)};
}

// Returns the time to simulate launches without a pause for so long, in rounds.
TimeRange busy_time(const TimeRange& simulated, const TimeRange& launch) {
  const auto rounds = [](Nanoseconds time) { return std::max(1.0, time / kRoundTime); };
  TimeRange time;
  time.least =
      kLaunch.least * (simulated.least / launch.most) + kSimulatedRound.least * rounds(simulated.least);
  const Nanoseconds cost = std::clamp(launch.least / 10.0, kMostOfShortLaunch, kLaunch.most);
  time.most = cost * (simulated.most / launch.least) + kSimulatedRound.most * rounds(simulated.most);
  return time;
}

TimeRange time_of(const Trial& trial) {
  TimeRange time = kEachOperation;
  const Operation* operation = trial.operation();
  const TimeRange launch =
      operation == nullptr ? TimeRange{microseconds(1), milliseconds(1)} : launch_time(*operation);
  const MeasureOptions& options = trial.options;
  const auto caches = static_cast<double>(options.caches.size());
  for (const Load load : options.loads) {
    if (load == Load::burst) {
      const double least = static_cast<double>(options.minimum_rounds),
                   most = std::max(least, options.time_limit / (mean_idle(options) + kRoundTime));
      add(time, busy_time({kRoundTime * least, kRoundTime * most}, launch), caches);
    } else {
      add(time, busy_time({kSustainedTime.least, options.sustained_time_limit}, launch), caches);
    }
  }
  for (const std::int64_t count : options.iterations) add(time, kLaunch, static_cast<double>(count));
  if (options.load_probe) time.most += busy_time({{}, kLoadProbeTime}, launch).most;
  time.most += kLaunch.most * kFewTraced;
  return time;
}

TimeRange time_of_sequence(const Model& model, const MeasureOptions& options) {
  const auto calls = static_cast<double>(model.calls.size());
  const double least = static_cast<double>(options.minimum_rounds),
               most = std::max(least, options.sustained_time_limit * 3.0 / (mean_idle(options) + kRoundTime));
  TimeRange time;
  time.least = kLaunch.least * (calls * least);
  // Each pass is timed as a whole and call by call, and conditioned before.
  constexpr double kPasses = 4.0;
  time.most = kLaunch.most * (calls * most * kPasses) + kSimulatedRound.most * most * kPasses;
  return time;
}

}  // namespace

TimeRange simulation_time(const Plan& plan, std::int64_t processes) {
  TimeRange each = kStart;
  for (const std::vector<Trial>& group : plan.groups) {
    for (const Trial& trial : group) add(each, time_of(trial), 1.0);
  }
  if (plan.in_sequence) add(each, time_of_sequence(*plan.in_sequence, shared_options(plan)), 1.0);
  TimeRange all{};
  add(all, each, static_cast<double>(processes));
  return all;
}

std::string range_text(const TimeRange& time) {
  return fmt::format("{} to {}", duration_text(time.least), duration_text(time.most));
}

std::string simulated_sentence(const TimeRange& simulated, const TimeRange& real) {
  return fmt::format("This takes about {} on a free core, and is {} of simulated time.", range_text(real),
                     range_text(simulated));
}

std::string duration_on(const DeviceDescription& device, Nanoseconds duration) {
  const std::string text = duration_text(duration);
  return device.capabilities.is_simulated ? text + " of simulated time, which pass in a fraction of it"
                                          : text;
}

}  // namespace jitterscope::cli
