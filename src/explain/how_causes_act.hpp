// Examines by which way causes act, once their effects are known.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "explain/experiments.hpp"
#include "explain/explanation.hpp"
#include "explain/treated_loop.hpp"

namespace jitterscope::explain {

struct JudgedFactors {
  TreatedLoop& bench;
  const FactorList& factors;
  const std::vector<std::size_t>& doses;  ///< for each factor, the dose that its verdict is about
  std::vector<FactorResult>& results;     ///< in the order of the factors; others may follow
  std::function<bool()> is_interrupted;
  std::function<Nanoseconds()> time_left;
};

/// Asks the device whether power or heat held the clock down, since both lower it alike, as far as there is
/// time.
void find_what_held_the_clock(const JudgedFactors& judged);

/// Tests whether the causes act by power, as far as there is time.
void let_causes_rest(const JudgedFactors& judged, Nanoseconds time_of_each, Random& random,
                     const ExperimentListeners& listeners);

/// Reads the hardware counters of causes. A profiler slows what runs beside it, so call this after all times
/// are known. Returns why causes were not counted; empty if they were, or if there is none.
std::string count_causes(const JudgedFactors& judged);

// The device's counters of throttled time tell what held the clock down under a dose, and so tell power from
// heat.

/// Reads them over some loops, each after its load: plain loops if the treatment raises the clock
/// (`clock_ratio`, treated over plain), else treated ones. nullopt if the device has no such counters. Throws
/// what running a loop throws.
std::optional<HeldClock> find_held_clock(TreatedLoop& bench, const Treatment& treatment, double clock_ratio);

/// Returns "the power cap held the clock down for 62 % of that time, and heat did not"; empty if neither did.
std::string held_words(const HeldClock& held);

/// True if exactly one of power cap and heat held the clock.
bool tells_power_from_heat(const HeldClock& held);

// Few launches with long rests keep the average of the power below any limit: an effect of power disappears.

/// Share of the time during which the device works then.
inline constexpr double kLowDuty = 0.05;

/// Returns the approximate host time of settling and of the fewest pairs.
Nanoseconds low_duty_time(const TreatedLoop& bench);

/// Returns the treated time over the plain one, both with these rests, in pairs until the time is over, at
/// least kFewestBlocks. No pair is taken while the clock still climbs from what ran before. nullopt if it
/// climbs until the time is over, or if interrupted.
std::optional<RestedEffect> effect_at_low_duty(TreatedLoop& bench, const Treatment& treatment,
                                               Nanoseconds time_limit, Random& random,
                                               const ExperimentListeners& listeners);

/// Returns what this says of an effect: "at a duty of 5 % it is -0.1 % (-0.3 % to 0.2 %): power makes it, and
/// not the arithmetic".
std::string low_duty_words(const RatioEstimate& effect, const RestedEffect& rested);

/// Compares the hardware counters of a plain and a treated launch, apart from all times. Leaves out values
/// that either lacks. Throws as Device::count does.
class LaunchCounting {
 public:
  explicit LaunchCounting(TreatedLoop& bench);
  std::vector<CountedChange> compare(const Treatment& treatment);

 private:
  TreatedLoop& bench_;
  std::unique_ptr<CounterReader> reader_;
  CounterReading plain_;
};

/// Returns "reads 31 MiB more from DRAM (plain: 12 MiB)"; empty if nothing differs that has words.
std::string counter_words(const std::vector<CountedChange>& changes);

// Causes act on each other, so their single effects do not tell how fast the loop is without all of them.

/// Returns the time of the plain loops beside the doses; nullopt for fewer than two blocks.
std::optional<TimeEstimate> plain_level(const PairedEffects& paired);

/// Measures the loop without all causes, in pairs with the plain loop, for `time`. nullopt if no cause makes
/// the loop faster, if they cannot be removed together, or if there is no time left for the fewest pairs. A
/// single cause is not measured again.
std::optional<FastestLoop> find_fastest_loop(const JudgedFactors& judged, Nanoseconds time, Random& random,
                                             const ExperimentListeners& listeners);

}  // namespace jitterscope::explain
