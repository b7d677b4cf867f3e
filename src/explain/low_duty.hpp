// Whether an effect is one of power: with long rests between few launches no average of it reaches a limit.
#pragma once

#include <optional>
#include <string>

#include "explain/experiments.hpp"

namespace jitterscope::explain {

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

}  // namespace jitterscope::explain
