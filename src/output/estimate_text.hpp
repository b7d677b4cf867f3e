// A measured time with its interval, for people.
#pragma once

#include <string>

#include "jitterscope/measurement.hpp"

namespace jitterscope {

/// Whether an interval exists: fewer than 6 rounds give none.
bool has_interval(const TimeEstimate& estimate);
/// "3.312 µs ± 0.1 %", or "3.31 µs, no interval (3 rounds)".
std::string estimate_text(const TimeEstimate& estimate);

}  // namespace jitterscope
