// What the fits share; internal to src/statistics.
#pragma once

#include <span>
#include <stdexcept>

namespace jitterscope::statistics {

/// Least squares around the means: y = mean_y + slope·(x - mean_x). Centred, so that clocks near 2e9 and
/// times near 1e-6 lose no digits to cancellation.
struct CentredLine {
  double mean_x = 0.0, mean_y = 0.0;
  double slope = 0.0;
  double spread_x = 0.0;  ///< sum of (x - mean_x)²; slope is 0 where this is 0

  double residual(double x, double y) const { return y - mean_y - slope * (x - mean_x); }
};

/// Of at least one point; throws std::invalid_argument where the two lengths differ.
inline CentredLine fit_centred(std::span<const double> x, std::span<const double> y) {
  if (x.size() != y.size() || x.empty()) {
    throw std::invalid_argument("a line needs as many x as y, and at least one");
  }
  const auto count = static_cast<double>(x.size());
  CentredLine line;
  for (std::size_t i = 0; i < x.size(); ++i) {
    line.mean_x += x[i] / count;
    line.mean_y += y[i] / count;
  }
  double product = 0.0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    line.spread_x += (x[i] - line.mean_x) * (x[i] - line.mean_x);
    product += (x[i] - line.mean_x) * (y[i] - line.mean_y);
  }
  line.slope = line.spread_x > 0.0 ? product / line.spread_x : 0.0;
  return line;
}

}  // namespace jitterscope::statistics
