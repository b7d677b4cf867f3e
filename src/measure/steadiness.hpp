// Decides whether rounds without pause have settled.
#pragma once

#include <optional>
#include <span>

#include "jitterscope/measurement.hpp"

namespace jitterscope {

/// Returns the first round of the third quarter if the rounds have settled: time and, if known, clock lie
/// within 0.5 % in the third and the last quarter (the difference known to 1 %), the throttled time grew at
/// the same rate in both, and heat is not about to move the times (heat_may_still_move). Else nullopt.
std::optional<std::size_t> settled_since(std::span<const Round> rounds,
                                         std::optional<Celsius> slowdown_temperature = std::nullopt);

/// Returns why the rounds have not settled. Level times that heat may still move count as slowing down.
Steadiness::Verdict why_not_steady(std::span<const Round> rounds,
                                   std::optional<Celsius> slowdown_temperature = std::nullopt);

// A chip that still warms up may yet change its times, though they look level for now.

/// Heat takes tens of seconds: under a power cap leakage then lowers the clock, and some level seconds (to
/// 0.5 %) are 1 % from the end. True if the temperature's rise, extrapolated by 20 s, reaches the slowdown
/// temperature; or if the power cap acts (or no counter tells) and the rise, extrapolated over a slow stage
/// of 40 s, may move times by 0.3 %, at 0.05 % per degree. False if a round has no temperature.
bool heat_may_still_move(std::span<const Round> rounds, std::optional<Celsius> slowdown_temperature);

// Growth of the driver's counters of throttled time over some rounds.

struct ThrottleGrowth {
  Nanoseconds power, heat;  ///< held down by the power cap, by heat
  Nanoseconds span;         ///< host time from the first to the last round; above zero
};
/// nullopt if the first or the last round has no counter, or if both are the same round.
std::optional<ThrottleGrowth> throttle_growth(std::span<const Round> rounds);

// A probe of half a second without pause shows whether a sustained load would change the times.

/// Length of the probe. On an H200 the power cap acts within 0.4 s, in simulations sooner.
inline constexpr Nanoseconds kLoadProbeTime = seconds(0.5);

/// Returns what the rounds of a sustained measurement of that length show.
LoadProbe load_probe_of(const Measurement& sustained);

}  // namespace jitterscope
