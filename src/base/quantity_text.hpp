// Quantities as people read them, with a unit that fits.
#pragma once

#include <string>

#include "jitterscope/units.hpp"

namespace jitterscope::base {

/// "1.368 ms": ns, µs, ms or s, so that one to three digits stand before the point.
std::string time_text(Nanoseconds time, int significant_digits = 4);
/// "1612 MHz"
std::string clock_text(Hertz clock);
/// "700 W"
std::string power_text(Watts power);
/// A ratio as a share: 0.0052 is "0.52 %".
std::string percent_text(double ratio, int significant_digits = 2);
/// A ratio as a change, signed, with one decimal: 0.141 is "+14.1 %". Small changes get two digits: "+0.52
/// %".
std::string change_text(double ratio);

}  // namespace jitterscope::base
