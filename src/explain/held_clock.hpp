// What held the clock down under a dose: by the device's own counters of throttled time, and so what tells
// power from heat where both lower the clock alike.
#pragma once

#include <optional>
#include <string>

#include "explain/explanation.hpp"
#include "explain/treated_loop.hpp"

namespace jitterscope::explain {

/// Over some loops, each with the load before it: plain ones where the treatment raises the clock, by
/// `clock_ratio` of treated over plain, else treated ones. Nothing where the device has no such counters.
/// Throws what running a loop throws.
std::optional<HeldClock> find_held_clock(TreatedLoop& bench, const Treatment& treatment, double clock_ratio);

/// "the power cap held the clock for 62 % of that time, and heat did not"; empty where neither did.
std::string held_words(const HeldClock& held);

/// Whether it says what a load acts by: the power cap or heat, and not both.
bool tells_power_from_heat(const HeldClock& held);

}  // namespace jitterscope::explain
