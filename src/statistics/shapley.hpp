// What each of several explanations, which may overlap, explains of how values vary.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace jitterscope::statistics {

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
