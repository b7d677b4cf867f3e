#include "statistics/trimmed_mean.hpp"

#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <vector>

namespace jitterscope::statistics {

std::optional<TrimmedMean> trimmed_mean(std::span<const double> values) {
  constexpr double kTrimmed = 0.2;
  if (values.size() < 2) return std::nullopt;
  std::vector<double> sorted(values.begin(), values.end());
  std::ranges::sort(sorted);
  const auto cut = static_cast<std::size_t>(kTrimmed * static_cast<double>(sorted.size()));
  const std::size_t kept = sorted.size() - 2 * cut;
  TrimmedMean mean;
  for (std::size_t i = cut; i < cut + kept; ++i) mean.value += sorted[i] / static_cast<double>(kept);
  // Winsorized: each end takes the value of its last one that is kept.
  std::fill_n(sorted.begin(), cut, sorted[cut]);
  std::fill_n(sorted.rbegin(), cut, sorted[cut + kept - 1]);
  const double deviation = standard_deviation(sorted);
  const double share_kept = static_cast<double>(kept) / static_cast<double>(sorted.size());
  // Trimmed means of few normal values scatter more than that theory says: as it stands, it holds 93.4 to
  // 94.5 % for 6 to 30 values; widened by half of a kept value, 94.8 to 95.4 %.
  const double widened = 1.0 + 0.5 / static_cast<double>(kept);
  const double error = widened * deviation / (share_kept * std::sqrt(static_cast<double>(sorted.size())));
  const double freedom = static_cast<double>(kept) - 1.0;
  const double half = student_critical(0.95, freedom) * error;
  mean.interval = {mean.value - half, mean.value + half};
  if (error > 0.0) {
    const boost::math::students_t distribution(freedom);
    mean.p_value =
        2.0 * boost::math::cdf(boost::math::complement(distribution, std::abs(mean.value) / error));
  } else {
    mean.p_value = mean.value == 0.0 ? 1.0 : 0.0;
  }
  return mean;
}

}  // namespace jitterscope::statistics
