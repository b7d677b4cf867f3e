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

}  // namespace jitterscope
