// Counts of successes out of equal trials: intervals of their probability, and how unlikely a count is.
#pragma once

#include <cstdint>

#include "statistics/statistics.hpp"

namespace jitterscope::statistics {

/// Clopper and Pearson's interval of a probability: exact, so never too narrow; [0, 1] for no trials. Throws
/// std::invalid_argument where there are fewer trials than successes, or less than none.
Interval clopper_pearson(std::int64_t successes, std::int64_t trials, double confidence = 0.95);

/// P(X <= successes) for X ~ Bin(trials, probability): the one-sided exact test of "at least `probability`"
/// rejects where this is below its level. Throws as clopper_pearson does.
double probability_of_at_most(std::int64_t successes, std::int64_t trials, double probability);

}  // namespace jitterscope::statistics
