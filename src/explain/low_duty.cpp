#include "explain/low_duty.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/quantity_text.hpp"
#include "explain/verdicts.hpp"

namespace jitterscope::explain {
namespace {

constexpr std::int64_t kLaunches = 5;

Treatment with_rests(const TreatedLoop& bench, Treatment treatment) {
  const Nanoseconds work = bench.launch_time() * static_cast<double>(kLaunches);
  treatment.launches = kLaunches;
  treatment.idle = std::max(treatment.idle, work * (1.0 / kLowDuty - 1.0));
  return treatment;
}

}  // namespace

Nanoseconds low_duty_time(const TreatedLoop& bench) {
  return bench.duration(with_rests(bench, Treatment())) * (2.0 * static_cast<double>(kFewestBlocks));
}

std::optional<RestedEffect> effect_at_low_duty(TreatedLoop& bench, const Treatment& treatment,
                                               Nanoseconds time_limit, Random& random,
                                               const ExperimentListeners& listeners) {
  const Treatment plain = with_rests(bench, Treatment()), treated = with_rests(bench, treatment);
  Device& device = bench.session().device();
  const Nanoseconds start = device.host_time();
  std::vector<double> log_times, log_clocks;
  bench.run(plain);  // the heat of what was before goes with its rest
  while (std::ssize(log_times) < kFewestBlocks || device.host_time() - start < time_limit) {
    if (listeners.stop()) break;
    listeners.progress("with long rests", (device.host_time() - start) / time_limit);
    const bool is_treated_first = random.uniform() < 0.5;
    const LoopReading first = bench.run(is_treated_first ? treated : plain);
    const LoopReading second = bench.run(is_treated_first ? plain : treated);
    const LoopReading &without = is_treated_first ? second : first, &with = is_treated_first ? first : second;
    if (without.time <= Nanoseconds(0) || with.time <= Nanoseconds(0)) continue;
    log_times.push_back(std::log(with.time / without.time));
    if (with.clock && without.clock) log_clocks.push_back(std::log(*with.clock / *without.clock));
  }
  const std::optional<RatioEstimate> time = ratio_of_blocks(log_times);
  if (!time) return std::nullopt;
  return RestedEffect{*time, ratio_of_blocks(log_clocks)};
}

std::string low_duty_words(const RatioEstimate& effect, const RestedEffect& rested) {
  constexpr double kMostOfIt = 2.0 / 3.0;  // of the effect
  const RatioEstimate& time = rested.time;
  const double whole = std::log(effect.ratio), left = std::log(time.ratio);
  const bool is_gone = (time.low <= 1.0 && time.high >= 1.0) ||
                       std::abs(left) < std::max(kMaterial, (1.0 - kMostOfIt) * std::abs(whole));
  const bool is_whole = left * whole > 0.0 && std::abs(left) > kMostOfIt * std::abs(whole);
  // A clock that moves against the time, by most of it, even then.
  const bool by_clock = rested.clock && -std::log(rested.clock->ratio) / left > kMostOfIt;
  return fmt::format("at a duty of {} it is {} ({} to {}){}", percent_text(kLowDuty),
                     change_text(time.ratio - 1.0), change_text(time.low - 1.0), change_text(time.high - 1.0),
                     is_gone     ? ": power makes it, and not the arithmetic"
                     : !is_whole ? ": power makes a part of it"
                     : by_clock  ? ", and the clock still moves: a limit of power that acts at once makes it"
                                 : ": it is not power that makes it");
}

}  // namespace jitterscope::explain
