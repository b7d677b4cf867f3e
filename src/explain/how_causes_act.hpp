// What is asked of causes when their effects are known: by which way they act.
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
  const std::vector<std::size_t>& doses;  ///< of each factor, the one that its verdict is about
  std::vector<FactorResult>& results;     ///< in the order of the factors; others may follow
  std::function<bool()> is_interrupted;
  std::function<Nanoseconds()> time_left;
};

/// Power and heat lower the clock alike; the device says which of them it was.
void find_what_held_the_clock(const JudgedFactors& judged);

/// Whether power is how they act, as far as there is time.
void let_causes_rest(const JudgedFactors& judged, Nanoseconds time_of_each, Random& random,
                     const ExperimentListeners& listeners);

/// What differs in hardware counters. A profiler slows what runs beside it: for when all times are known.
/// Gives why causes were not counted; empty where they were, or there is none.
std::string count_causes(const JudgedFactors& judged);

// What held the clock down under a dose: by the device's own counters of throttled time, and so what tells
// power from heat where both lower the clock alike.

/// Over some loops, each with the load before it: plain ones where the treatment raises the clock, by
/// `clock_ratio` of treated over plain, else treated ones. Nothing where the device has no such counters.
/// Throws what running a loop throws.
std::optional<HeldClock> find_held_clock(TreatedLoop& bench, const Treatment& treatment, double clock_ratio);

/// "the power cap held the clock for 62 % of that time, and heat did not"; empty where neither did.
std::string held_words(const HeldClock& held);

/// Whether it says what a load acts by: the power cap or heat, and not both.
bool tells_power_from_heat(const HeldClock& held);

// Whether an effect is one of power: with long rests between few launches no average of it reaches a limit.

/// Share of the time in which the device works then.
inline constexpr double kLowDuty = 0.05;

/// Host time of the fewest pairs, roughly.
Nanoseconds low_duty_time(const TreatedLoop& bench);

/// With the treatment over without, both with these rests, in pairs until the time is over, at least
/// kFewestBlocks. Nothing where it was interrupted before.
std::optional<RestedEffect> effect_at_low_duty(TreatedLoop& bench, const Treatment& treatment,
                                               Nanoseconds time_limit, Random& random,
                                               const ExperimentListeners& listeners);

/// "at a duty of 5 % it is -0.1 % (-0.3 % to 0.2 %): power makes it, and not the arithmetic": what that says
/// of an effect.
std::string low_duty_words(const RatioEstimate& effect, const RestedEffect& rested);

// What hardware counters say of a plain launch and of a treated one.

/// Counts one launch of each kind, apart from all times. Values that neither has are left out. Throws as
/// Device::count does.
class LaunchCounting {
 public:
  explicit LaunchCounting(TreatedLoop& bench);
  std::vector<CountedChange> compare(const Treatment& treatment);

 private:
  TreatedLoop& bench_;
  std::unique_ptr<CounterReader> reader_;
  CounterReading plain_;
};

/// "reads 31 MiB more from DRAM (plain: 12 MiB)"; empty where nothing differs that has words.
std::string counter_words(const std::vector<CountedChange>& changes);

// How fast the loop is with every cause taken away at once: what effects that were measured one by one do not
// tell, since causes act on each other.

/// Of the plain loops beside the doses; nothing for fewer than two blocks.
std::optional<TimeEstimate> plain_level(const PairedEffects& paired);

/// In pairs with the plain loop, for so long. `results` are judged, in the order of the factors. Nothing
/// where no cause makes the loop faster, or where they cannot be taken away together. Of a single one it is
/// what is known already.
std::optional<FastestLoop> find_fastest_loop(TreatedLoop& bench, const FactorList& factors,
                                             const std::vector<FactorResult>& results, Nanoseconds time,
                                             Random& random, const ExperimentListeners& listeners);

}  // namespace jitterscope::explain
