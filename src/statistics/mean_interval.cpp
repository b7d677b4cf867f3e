#include <cmath>
#include <limits>
#include <numeric>

#include "statistics/least_squares.hpp"
#include "statistics/statistics.hpp"

namespace jitterscope::statistics {

MeanInterval mean_interval(std::span<const double> values, double confidence) {
  const auto count = static_cast<double>(values.size());
  MeanInterval result;
  result.mean = std::accumulate(values.begin(), values.end(), 0.0) / count;
  double half = std::numeric_limits<double>::infinity();
  if (values.size() > 1) {
    double squares = 0.0;
    for (const double value : values) squares += (value - result.mean) * (value - result.mean);
    half = student_critical(confidence, count - 1.0) * std::sqrt(squares / (count * (count - 1.0)));
  }
  result.interval = {result.mean - half, result.mean + half};
  return result;
}

}  // namespace jitterscope::statistics
