// Experiments in which every factor has two levels, all switched at once.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "statistics/statistics.hpp"

namespace jitterscope::statistics {

/// One row for each run, one level for each factor: false is low.
using TwoLevelDesign = std::vector<std::vector<bool>>;

/// The smallest design of Plackett and Burman (Biometrika 33, 1946) with at least one column more than there
/// are factors, and its mirror image behind it: with that no main effect is mixed with the effect of two
/// factors together. 16, 24, 40 or 48 runs; at most 23 factors, else std::invalid_argument is thrown.
TwoLevelDesign folded_plackett_burman(std::size_t factors);

/// High less low, the mean over the levels of all other factors.
struct MainEffect {
  double value = 0.0;
  Interval interval;  ///< 95 %, Student's, from what the main effects leave of the values
};
/// Of each factor, by least squares; values of one block (one pass through the design) have a level of their
/// own. `blocks` and `values` belong to the rows one by one. Nothing is known, with infinite intervals, where
/// there are no more rows than parameters.
std::vector<MainEffect> main_effects(const TwoLevelDesign& rows, std::span<const std::size_t> blocks,
                                     std::span<const double> values);

// What each of several explanations, which may overlap, explains of how values vary.

/// Columns that belong together: an indicator for each process, a measured clock.
struct Explanation {
  std::vector<std::vector<double>> columns;  ///< each as long as the values
};

/// The share of the variance of the values that each explanation has: its Shapley value, the mean over all
/// orders of what it adds to R² when it comes after the ones before (Lindeman, Merenda and Gold, 1980). What
/// two explain alike they share. The shares and the rest, which is last, add up to 1; all 0 but the rest
/// where the values do not vary. At most 8 explanations, else std::invalid_argument is thrown.
std::vector<double> shapley_shares(std::span<const Explanation> explanations, std::span<const double> values);

}  // namespace jitterscope::statistics
