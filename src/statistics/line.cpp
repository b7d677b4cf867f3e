#include <cmath>

#include "statistics/least_squares.hpp"
#include "statistics/statistics.hpp"

namespace jitterscope::statistics {

std::optional<LinearFit> fit_line(std::span<const double> x, std::span<const double> y) {
  // Two points leave no residual to judge the error by.
  if (x.size() < 3 && x.size() == y.size()) {
    return std::nullopt;
  }
  const CentredLine line = fit_centred(x, y);
  // Below this the x differ by rounding only, and the slope would be noise over noise.
  const auto count = static_cast<double>(x.size());
  if (std::sqrt(line.spread_x / count) <= 1e-12 * std::abs(line.mean_x)) {
    return std::nullopt;
  }
  double squares = 0.0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    squares += std::pow(line.residual(x[i], y[i]), 2);
  }
  LinearFit fit;
  fit.slope = line.slope;
  fit.intercept = line.mean_y - line.slope * line.mean_x;
  fit.residual_deviation = std::sqrt(squares / (count - 2.0));
  const double critical = student_critical(0.95, count - 2.0) * fit.residual_deviation;
  const double slope_half = critical / std::sqrt(line.spread_x);
  const double intercept_half = critical * std::sqrt(1.0 / count + line.mean_x * line.mean_x / line.spread_x);
  fit.slope_interval = {fit.slope - slope_half, fit.slope + slope_half};
  fit.intercept_interval = {fit.intercept - intercept_half, fit.intercept + intercept_half};
  return fit;
}

}  // namespace jitterscope::statistics
