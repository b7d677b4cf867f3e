// Where in its measurements a finding happened, as ranges of rounds.
#pragma once

#include <vector>

#include "jitterscope/measurement.hpp"

namespace jitterscope {

/// In one measurement of the result's; none for no rounds. `rounds` rise, and those in a row become one
/// range.
std::vector<FindingPlace> places_of(const std::vector<std::size_t>& rounds, const Measurement& measurement,
                                    const Result& result);

/// From a round on, all that there are.
std::vector<std::size_t> rounds_from(std::size_t first, const Measurement& measurement);

/// The first and the last third of what the estimate stands on: a change over the record lies between them.
std::vector<std::size_t> outer_thirds(const Measurement& measurement);

}  // namespace jitterscope
