#include <algorithm>
#include <boost/math/distributions/binomial.hpp>

#include "statistics/statistics.hpp"

namespace jitterscope::statistics {
namespace {

/// The largest k with P(Bin(count, 1/2) < k) <= tail; 0 where not even k = 1 qualifies. The probability rises
/// with k, so bisection finds it in log2(count) evaluations.
std::size_t largest_rank(std::size_t count, double tail) {
  const boost::math::binomial distribution(static_cast<double>(count), 0.5);
  std::size_t good = 0;
  std::size_t bad = (count + 1) / 2 + 1;
  while (bad - good > 1) {
    const std::size_t middle = good + (bad - good) / 2;
    (boost::math::cdf(distribution, static_cast<double>(middle - 1)) <= tail ? good : bad) = middle;
  }
  return good;
}

}  // namespace

std::optional<Interval> median_interval(std::span<const double> values, double confidence) {
  if (values.empty()) {
    return std::nullopt;
  }
  const std::size_t rank = largest_rank(values.size(), (1.0 - confidence) / 2.0);
  if (rank == 0) {
    return std::nullopt;
  }
  std::vector<double> copy(values.begin(), values.end());
  const auto low = copy.begin() + static_cast<std::ptrdiff_t>(rank - 1);
  const auto high = copy.end() - static_cast<std::ptrdiff_t>(rank);
  std::nth_element(copy.begin(), low, copy.end());
  const double lower = *low;
  std::nth_element(low, high, copy.end());
  return Interval{lower, *high};
}

}  // namespace jitterscope::statistics
