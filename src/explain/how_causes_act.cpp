#include "explain/how_causes_act.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>
#include <string_view>

#include <fmt/format.h>

#include "base/names.hpp"
#include "base/quantity_text.hpp"
#include "explain/verdicts.hpp"
#include "statistics/statistics.hpp"

namespace jitterscope::explain {
namespace {

bool moves_clock(const FactorResult& factor) {
  const std::optional<RatioEstimate>& clock = factor.doses[factor.strongest].clock;
  return clock && std::abs(clock->ratio - 1.0) > kMaterial;
}

// Opening the profiler and counting takes seconds on a GPU, 4 s for a product with three causes (H100); a CPU
// has none, and a simulated one costs nothing.
Nanoseconds time_of_profiler(const TreatedLoop& bench) {
  const DeviceCapabilities& can = bench.device().capabilities;
  return can.is_host || can.is_simulated ? Nanoseconds(0) : seconds(4);
}

// The loops follow each other without rests: the counters lag by some ten milliseconds.
constexpr int kLoops = 3;

// The estimate of a part's duration is off by up to a tenth; a part that is begun has to end in time.
constexpr double kRoughly = 1.1;

// Zeros take less power than normal values: where the clock is higher with a dose, it was held without.
Treatment slower_of(const Treatment& treatment, double clock_ratio) {
  return clock_ratio > 1.0 ? Treatment() : treatment;
}

}  // namespace

void find_what_held_the_clock(const JudgedFactors& judged) {
  for (std::size_t i = 0; i < judged.factors.size() && !judged.is_interrupted(); ++i) {
    FactorResult& factor = judged.results[i];
    if (factor.verdict != FactorVerdict::cause || !moves_clock(factor)) continue;
    const Treatment treatment = treatment_of(*judged.factors[i], judged.doses[i]);
    if (treatment.idle > Treatment().idle) continue;  // an idle lets the clock sleep; nothing holds it down
    const double clock = factor.doses[factor.strongest].clock->ratio;
    const Nanoseconds loop = judged.bench.duration(slower_of(treatment, clock));
    if (loop * (kRoughly * (kLoops + 1)) > judged.time_left()) continue;
    try {
      factor.held_clock = find_held_clock(judged.bench, treatment, clock);
    } catch (const NeighbourLostError&) {  // its effect is already known
      continue;
    }
    if (factor.held_clock && tells_power_from_heat(*factor.held_clock)) factor.not_told_from.clear();
  }
}

void let_causes_rest(const JudgedFactors& judged, Nanoseconds time_of_each, Random& random,
                     const ExperimentListeners& listeners) {
  for (std::size_t i = 0; i < judged.factors.size() && !judged.is_interrupted(); ++i) {
    if (low_duty_time(judged.bench) > judged.time_left()) return;
    FactorResult& factor = judged.results[i];
    if (!judged.factors[i]->may_be_power || factor.verdict != FactorVerdict::cause) continue;
    const Treatment treatment = treatment_of(*judged.factors[i], judged.doses[i]);
    factor.at_low_duty = effect_at_low_duty(judged.bench, treatment, time_of_each, random, listeners);
  }
}

std::string count_causes(const JudgedFactors& judged) {
  std::optional<LaunchCounting> counting;
  for (std::size_t i = 0; i < judged.factors.size() && !judged.is_interrupted(); ++i) {
    FactorResult& factor = judged.results[i];
    if (!judged.factors[i]->shows_in_counters || factor.verdict != FactorVerdict::cause) continue;
    const Treatment treatment = treatment_of(*judged.factors[i], judged.doses[i]);
    const Nanoseconds needed = time_of_profiler(judged.bench);
    if (!counting && needed > Nanoseconds(0) && judged.time_left() < needed)
      return "the time was over before they were read; --max-time gives more";
    try {
      if (!counting) counting.emplace(judged.bench);
      factor.counters = counting->compare(treatment);
    } catch (const Error& error) {
      return error.what();
    }
  }
  return {};
}

namespace {

// The driver's counters move in steps of some milliseconds.
constexpr double kHeld = 0.02;

bool holds(double share) { return share > kHeld; }

}  // namespace

std::optional<HeldClock> find_held_clock(TreatedLoop& bench, const Treatment& treatment, double clock_ratio) {
  const bool is_plain = clock_ratio > 1.0;
  const Treatment slower = slower_of(treatment, clock_ratio);
  Device& device = bench.session().device();
  bench.run(slower);  // the effects of earlier loops end with it
  const SensorReading before = device.read_sensors();
  const Nanoseconds began = device.host_time();
  for (int i = 0; i < kLoops; ++i) bench.run(slower);
  const SensorReading after = device.read_sensors();
  const Nanoseconds span = device.host_time() - began;
  if (!before.throttled_power || !after.throttled_power || span <= Nanoseconds(0)) return std::nullopt;
  const auto share = [&](const std::optional<Nanoseconds>& first, const std::optional<Nanoseconds>& last) {
    return first && last ? std::clamp((*last - *first) / span, 0.0, 1.0) : 0.0;
  };
  return HeldClock{is_plain, share(before.throttled_power, after.throttled_power),
                   share(before.throttled_thermal, after.throttled_thermal)};
}

std::string held_words(const HeldClock& held) {
  const std::string_view when = held.is_plain ? "in the plain loop " : "",
                         time = held.is_plain ? "the time" : "that time";
  if (holds(held.by_power) && holds(held.by_heat)) {
    return fmt::format("{}the power cap held the clock down for {} of {}, and heat for {}", when,
                       percent_text(held.by_power), time, percent_text(held.by_heat));
  }
  if (holds(held.by_power)) {
    return fmt::format("{}the power cap held the clock down for {} of {}, and heat did not", when,
                       percent_text(held.by_power), time);
  }
  if (holds(held.by_heat)) {
    return fmt::format("{}heat held the clock down for {} of {}, and the power cap did not", when,
                       percent_text(held.by_heat), time);
  }
  return {};
}

bool tells_power_from_heat(const HeldClock& held) { return holds(held.by_power) != holds(held.by_heat); }

namespace {

constexpr std::int64_t kLaunches = 5;
constexpr std::size_t kSettlingLoops = 6;

Treatment with_rests(const TreatedLoop& bench, Treatment treatment) {
  const Nanoseconds work = bench.launch_time() * static_cast<double>(kLaunches);
  treatment.launches = kLaunches;
  treatment.idle = std::max(treatment.idle, work * (1.0 / kLowDuty - 1.0));
  return treatment;
}

// Behind a load the clock climbs for some tenths of a second, and the first pairs would show the climb. Runs
// plain loops until the last three are level with the three before them. False if that takes longer than
// `time_limit`, and longer than three times the fewest loops.
bool settle(TreatedLoop& bench, const Treatment& plain, Nanoseconds time_limit,
            const ExperimentListeners& listeners) {
  constexpr std::size_t kWindow = 3, kMost = 3 * kSettlingLoops;
  constexpr double kLevel = kMaterial / 2.0;
  Device& device = bench.session().device();
  const Nanoseconds start = device.host_time();
  std::vector<double> levels;
  while (levels.size() < kMost || device.host_time() - start < time_limit) {
    if (listeners.stop()) return false;
    const LoopReading reading = bench.run(plain);
    levels.push_back(std::log(reading.clock ? reading.clock->value() : std::max(reading.time.value(), 1e-3)));
    if (levels.size() < kSettlingLoops) continue;
    const std::span<const double> last = std::span(levels).last(kWindow),
                                  before = std::span(levels).last(2 * kWindow).first(kWindow);
    if (std::abs(statistics::median(last) - statistics::median(before)) < kLevel) return true;
  }
  return false;
}

}  // namespace

Nanoseconds low_duty_time(const TreatedLoop& bench) {
  constexpr auto kLoopsOfPairs = static_cast<std::size_t>(2 * kFewestBlocks);
  return bench.duration(with_rests(bench, Treatment())) *
         (kRoughly * static_cast<double>(kSettlingLoops + kLoopsOfPairs));
}

std::optional<RestedEffect> effect_at_low_duty(TreatedLoop& bench, const Treatment& treatment,
                                               Nanoseconds time_limit, Random& random,
                                               const ExperimentListeners& listeners) {
  const Treatment plain = with_rests(bench, Treatment()), treated = with_rests(bench, treatment);
  Device& device = bench.session().device();
  const Nanoseconds start = device.host_time();
  std::vector<double> log_times, log_clocks;
  if (!settle(bench, plain, time_limit, listeners)) return std::nullopt;
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
  constexpr double kMostOfIt = 2.0 / 3.0;  // share of the effect
  const RatioEstimate& time = rested.time;
  const double whole = std::log(effect.ratio), left = std::log(time.ratio);
  const bool is_gone = (time.low <= 1.0 && time.high >= 1.0) ||
                       std::abs(left) < std::max(kMaterial, (1.0 - kMostOfIt) * std::abs(whole));
  const bool is_whole = left * whole > 0.0 && std::abs(left) > kMostOfIt * std::abs(whole);
  // True if even then the clock moves against the time, by most of the effect.
  const bool by_clock = rested.clock && -std::log(rested.clock->ratio) / left > kMostOfIt;
  return fmt::format("with rests that leave {} of the time for work the change is {}{}",
                     percent_text(kLowDuty), change_with_interval(time),
                     is_gone     ? ": so power makes it, and not the arithmetic"
                     : !is_whole ? ": so power makes a part of it"
                     : by_clock
                         ? ", and the clock still moves: so a limit of power that acts at once makes it"
                         : ": so it is not power that makes it");
}

namespace {

// Equal launches differ by some KiB (H200).
constexpr double kBytesThatCount = 256.0 * 1024.0;
constexpr double kPercentThatCounts = 2.0;  // percentage points

std::string_view verb_of(CounterQuantity quantity) {
  switch (quantity) {
    case CounterQuantity::dram_bytes_read: return "reads {} {} from DRAM";
    case CounterQuantity::dram_bytes_written: return "writes {} {} to DRAM";
    default: return {};
  }
}

std::string words_of(const CountedChange& change) {
  const double by = change.treated - change.plain;
  if (const std::string_view verb = verb_of(change.quantity); !verb.empty()) {
    if (std::abs(by) < kBytesThatCount) return {};
    const Bytes bytes(std::llround(std::abs(by)));
    return fmt::format(fmt::runtime(verb), bytes_text(bytes), by > 0.0 ? "more" : "less") +
           fmt::format(" (plain: {})", bytes_text(Bytes(std::llround(change.plain))));
  }
  if (change.quantity != CounterQuantity::tensor_active || std::abs(by) < kPercentThatCounts) return {};
  return fmt::format("its units that multiply matrices work {:.0f} % of the time (plain: {:.0f} %)",
                     change.treated, change.plain);
}

}  // namespace

LaunchCounting::LaunchCounting(TreatedLoop& bench)
    : bench_(bench), reader_(bench.session().device().count({})) {
  plain_ = bench_.count(*reader_, Treatment());
}

std::vector<CountedChange> LaunchCounting::compare(const Treatment& treatment) {
  const CounterReading treated = bench_.count(*reader_, treatment);
  std::vector<CountedChange> changes;
  for (std::size_t i = 0; i < std::min(plain_.values.size(), treated.values.size()); ++i) {
    const CounterValue &before = plain_.values[i], &with = treated.values[i];
    if (!before.value || !with.value) continue;
    changes.push_back({before.name, before.quantity, before.unit, *before.value, *with.value});
  }
  return changes;
}

std::string counter_words(const std::vector<CountedChange>& changes) {
  std::vector<std::string> words;
  for (const CountedChange& change : changes) words.push_back(words_of(change));
  std::erase(words, std::string());
  return joined(words);
}

namespace {

// Returns the dose of a cause that makes the loop fastest, or null if none is shown to make it faster.
const DoseEffect* fastest_dose(const FactorResult& result) {
  if (result.verdict != FactorVerdict::cause) return nullptr;
  const auto fastest =
      std::ranges::min_element(result.doses, {}, [](const DoseEffect& dose) { return dose.time.ratio; });
  const bool is_faster = fastest != result.doses.end() && fastest->time.high < 1.0;
  return is_faster ? &*fastest : nullptr;
}

}  // namespace

std::optional<TimeEstimate> plain_level(const PairedEffects& paired) {
  const std::optional<RatioEstimate> level = ratio_of_blocks(paired.log_plain);
  if (!level) return std::nullopt;
  return TimeEstimate{Nanoseconds(level->ratio), Nanoseconds(level->low), Nanoseconds(level->high),
                      std::ssize(paired.log_plain)};
}

std::optional<FastestLoop> find_fastest_loop(const JudgedFactors& judged, Nanoseconds time, Random& random,
                                             const ExperimentListeners& listeners) {
  FastestLoop found;
  std::vector<const Dose*> doses;
  for (std::size_t i = 0; i < judged.factors.size(); ++i) {
    const DoseEffect* fastest = fastest_dose(judged.results[i]);
    if (fastest == nullptr) continue;
    const auto dose = std::ranges::find(judged.factors[i]->doses, fastest->dose, &Dose::text);
    doses.push_back(&*dose);
    found.parts.push_back({judged.factors[i]->id, fastest->dose});
    found.time = fastest->time;
    found.blocks = fastest->blocks;
  }
  if (doses.size() < 2) return doses.empty() ? std::nullopt : std::optional(found);
  const Factor together{.doses = {{"all at once", [&](Treatment& treatment) {
                                     for (const Dose* dose : doses) dose->apply(treatment);
                                   }}}};
  const PairsPlan plan{.has_dummies = false};
  const Nanoseconds needed =
      block_time(judged.bench, {&together}, plan) * (kRoughly * static_cast<double>(plan.fewest_blocks()));
  if (needed > judged.time_left()) return std::nullopt;
  const ExperimentListeners own{listeners.stop, [&](const std::string&, double share) {
                                  listeners.progress("what makes it faster, all at once", share);
                                }};
  PairedEffects paired;
  try {
    paired = confirm(judged.bench, {&together}, plan, time, random, own);
  } catch (const HoldTimeoutError&) {  // each cause alone fits a held queue
    return std::nullopt;
  }
  if (paired.doses.empty()) return std::nullopt;
  const std::optional<RatioEstimate> ratio = ratio_of_blocks(paired.doses.front().log_times);
  if (!ratio) return std::nullopt;
  found.time = *ratio;
  found.blocks = paired.blocks;
  return found;
}

}  // namespace jitterscope::explain
