#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <limits>
#include <numeric>

#include "statistics/statistics.hpp"

namespace jitterscope::statistics {

double student_critical(double confidence, double degrees_of_freedom) {
  const boost::math::students_t distribution(degrees_of_freedom);
  return boost::math::quantile(boost::math::complement(distribution, (1.0 - confidence) / 2.0));
}

double standard_deviation(std::span<const double> values) {
  const auto count = static_cast<double>(values.size());
  if (values.size() < 2) return std::numeric_limits<double>::quiet_NaN();
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / count;
  double squares = 0.0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  return std::sqrt(squares / (count - 1.0));
}

MeanInterval mean_interval(std::span<const double> values, double confidence) {
  const auto count = static_cast<double>(values.size());
  MeanInterval result;
  result.mean = std::accumulate(values.begin(), values.end(), 0.0) / count;
  double half = std::numeric_limits<double>::infinity();
  if (values.size() > 1) {
    half = student_critical(confidence, count - 1.0) * standard_deviation(values) / std::sqrt(count);
  }
  result.interval = {result.mean - half, result.mean + half};
  return result;
}

}  // namespace jitterscope::statistics
