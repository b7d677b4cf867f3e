// Ratios of times as people read them: as a change in percent, and far from one as a factor.
#pragma once

#include <string>

#include "experiment/comparison.hpp"

namespace jitterscope {

/// "-2.21 % (-2.37 to -2.05 %)", "12.3 times (12.1 to 12.5)".
std::string change_with_interval(const RatioEstimate& ratio);
/// "-2.21 ± 0.16 %", "12.3 ± 0.2 times"; "0.0 to 11.1 times" where the interval says no more.
std::string change_of(const RatioEstimate& ratio);

}  // namespace jitterscope
