// Two-level experiments in which all factors are switched at once, and shares of variance.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "statistics/statistics.hpp"

namespace jitterscope::statistics {

/// One row for each run, one level for each factor: false is low.
using TwoLevelDesign = std::vector<std::vector<bool>>;

/// Returns the smallest design of Plackett and Burman (Biometrika 33, 1946) with at least one more column
/// than factors, followed by its mirror image, so that no main effect is mixed with the interaction of two
/// factors. It has 16, 24, 40 or 48 runs. Throws std::invalid_argument above 23 factors.
TwoLevelDesign folded_plackett_burman(std::size_t factors);

/// High minus low, averaged over the levels of all other factors.
struct MainEffect {
  double value = 0.0;
  Interval interval;  ///< 95 %, Student's, from the residuals of the main effects
};
/// Returns each factor's effect by least squares; each block (one pass through the design) has its own level.
/// `blocks` and `values` correspond to the rows. Intervals are infinite if there are no more rows than
/// parameters.
std::vector<MainEffect> main_effects(const TwoLevelDesign& rows, std::span<const std::size_t> blocks,
                                     std::span<const double> values);

// Shares of variance for several explanations that may overlap.

/// Columns that belong together: an indicator for each process, a measured clock.
struct Explanation {
  std::vector<std::vector<double>> columns;  ///< each as long as the values
};

/// Returns the share of the values' variance for each explanation: its Shapley value, the mean increase of R²
/// over all orders in which explanations can be added (Lindeman, Merenda and Gold, 1980), so that
/// explanations share what they explain alike. The last element is the rest; all add up to 1. If the values
/// do not vary, the rest is 1. Throws std::invalid_argument above 8 explanations.
std::vector<double> shapley_shares(std::span<const Explanation> explanations, std::span<const double> values);

}  // namespace jitterscope::statistics
