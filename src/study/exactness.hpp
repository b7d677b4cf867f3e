// How exactly a study's ratios are known, and what keeps them from being known better.
#pragma once

#include <string>

#include "experiment/comparison.hpp"

namespace jitterscope::study {

/// Half-widths of 95 % intervals, relative, that are good enough to take or leave a remedy by.
inline constexpr double kExactEnough = 0.02;

/// A sentence where a ratio of an arm that is right is known less well than that: how many are, the widest
/// one, whether processes or rounds differ there, and how many processes would do. Else empty.
std::string exactness_sentence(const ComparisonRecord& record);

}  // namespace jitterscope::study
