#include <cmath>
#include <numeric>

#include "statistics/statistics.hpp"

namespace jitterscope::statistics {

double autocorrelation(std::span<const double> values, std::size_t lag) {
  if (values.size() < 2 || lag > values.size() - 2) {
    return 0.0;
  }
  const auto count = static_cast<double>(values.size());
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / count;
  double variance = 0.0;
  double covariance = 0.0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    variance += (values[i] - mean) * (values[i] - mean);
    covariance += i < lag ? 0.0 : (values[i] - mean) * (values[i - lag] - mean);
  }
  // Equal values leave the rounding error of the mean, some n·1e-16 of it, and no variance.
  const double rounding = 1e-15 * count * mean;
  return variance > count * rounding * rounding ? covariance / variance : 0.0;
}

}  // namespace jitterscope::statistics
