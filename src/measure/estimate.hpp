// From rounds to estimates.
#pragma once

#include <cstddef>
#include <span>

#include "jitterscope/measurement.hpp"

namespace jitterscope {

/// Median of independent times with its exact interval.
TimeEstimate estimate_of(std::span<const double> times);

/// Whether measuring may stop, asked after each round or pass: looks at a wider interval than is reported.
bool may_stop(std::span<const double> times, double precision);

/// Median of round medians with its exact interval.
TimeEstimate estimate_time(std::span<const Round> rounds);

/// As estimate_time over the medians of `blocks` consecutive blocks of rounds: rounds of a sustained load
/// follow each other without pause, so that neighbours share a clock state and are no independent sample.
TimeEstimate estimate_time_in_blocks(std::span<const Round> rounds, std::size_t blocks);

/// Fills time, clock, at_reference_clock, cycles, launches and modes from rounds [first, end).
void summarise(Measurement& measurement, std::size_t first);

}  // namespace jitterscope
