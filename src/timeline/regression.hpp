// Least squares of one kernel's durations on what may have moved them.
#pragma once

#include <cstddef>
#include <vector>

#include "timeline/variation.hpp"

namespace jitterscope::timeline {

/// Index of a quantile among `size` values in their order.
inline std::size_t rank_distance(std::size_t size, double probability) {
  return static_cast<std::size_t>(std::lround(probability * static_cast<double>(size - 1)));
}

/// A line of logarithms of durations, whose errors come from blocks of steps: neighbours are alike.
class Regression {
 public:
  /// Logarithms of the calls' durations, and the step of each.
  Regression(std::vector<double> values, std::vector<std::size_t> steps)
      : y_(std::move(values)), steps_(std::move(steps)) {}

  /// `is_sparse`: zero but for some calls; the effect is then the mean where it is not.
  void add(Follows what, std::vector<double> values, bool is_sparse = false);

  struct Answer {
    std::vector<FollowedCause> causes;
    double rest = 0.0;  ///< standard deviation of what no cause explains
  };
  Answer answer() const;

  struct Column {
    Follows what;
    std::vector<double> values;
    bool is_sparse;
  };

 private:
  std::vector<double> y_;
  std::vector<std::size_t> steps_;
  std::vector<Column> columns_;
};

}  // namespace jitterscope::timeline
