// Whether a record of rounds without pause has settled.
#pragma once

#include <optional>
#include <span>

#include "jitterscope/measurement.hpp"

namespace jitterscope {

/// One look at the record: time, and clock where it is known, lie within 0.5 % of each other in the third and
/// the last quarter (the difference being known to 1 %), and the time that the clock was held down grew at
/// the same rate in both, and heat is not about to move it (warming.hpp). Gives the first round of the third
/// quarter where all of that holds.
std::optional<std::size_t> settled_since(std::span<const Round> rounds,
                                         std::optional<Celsius> slowdown_temperature = std::nullopt);

/// What kept a record from settling. Times that are level but for the heat to come slow down.
Steadiness::Verdict why_not_steady(std::span<const Round> rounds,
                                   std::optional<Celsius> slowdown_temperature = std::nullopt);

// Whether a chip that still warms up may yet change its times, though they look level for now.

/// Heat takes tens of seconds. Under a power cap leakage then costs clock: a record of some seconds is level
/// to 0.5 %, and 1 % from where it ends. True where the rise of the temperature, carried on for 20 s, reaches
/// the slowdown temperature; or where the power cap acts (or no counter tells) and the rise, carried on for a
/// slow stage of 40 s, may move times by 0.3 %, at 0.05 % for each degree. False where a round does not know
/// its temperature.
bool heat_may_still_move(std::span<const Round> rounds, std::optional<Celsius> slowdown_temperature);

// How much the driver's counters of throttled time grew over a record.

struct ThrottleGrowth {
  Nanoseconds power, heat;  ///< held down by the power cap, by heat
  Nanoseconds span;         ///< host time from the first to the last round; more than zero
};
/// Nothing where no counter was read after the first or the last round, or they are one.
std::optional<ThrottleGrowth> throttle_growth(std::span<const Round> rounds);

// Half a second without pause: whether a sustained load would take another time than the bursts did.

/// How long an operation is watched. On an H200 the power cap acts within 0.4 s, in simulations sooner.
inline constexpr Nanoseconds kLoadProbeTime = seconds(0.5);

/// What the rounds of a sustained measurement of that length show.
LoadProbe load_probe_of(const Measurement& sustained);

}  // namespace jitterscope
