// A measured time with its interval, for people.
#pragma once

#include <string>

#include "measure/run_record.hpp"

namespace jitterscope {

/// "3.312 µs ± 0.1 %", "25 µs (25–104 µs)" where the interval is wide or lopsided, or "3.31 µs, no interval
/// (3 rounds)".
std::string estimate_text(const TimeEstimate& estimate);

}  // namespace jitterscope
