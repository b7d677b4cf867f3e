#include <algorithm>
#include <boost/math/distributions/binomial.hpp>

#include "statistics/statistics.hpp"

namespace jitterscope::statistics {
namespace {

using Binomial = boost::math::binomial;

/// The largest k with P(Bin(count, 1/2) < k) <= tail; 0 where not even k = 1 qualifies. The probability rises
/// with k, so bisection finds it in log2(count) evaluations.
std::size_t largest_rank(const Binomial& distribution, std::size_t count, double tail) {
  std::size_t good = 0;
  std::size_t bad = (count + 1) / 2 + 1;
  while (bad - good > 1) {
    const std::size_t middle = good + (bad - good) / 2;
    (boost::math::cdf(distribution, static_cast<double>(middle - 1)) <= tail ? good : bad) = middle;
  }
  return good;
}

/// How far the ends lie from x(rank) towards x(rank + 1), and alike from the other side: 0 to 1.
double weight_of_next(const Binomial& distribution, std::size_t count, std::size_t rank, double confidence) {
  if (2 * rank >= count) {
    return 0.0;  // no further pair inside
  }
  const auto n = static_cast<double>(count), k = static_cast<double>(rank);
  const double outer = 1.0 - 2.0 * boost::math::cdf(distribution, k - 1.0);
  const double inner = 1.0 - 2.0 * boost::math::cdf(distribution, k);
  const double share = (outer - confidence) / (outer - inner);
  return (n - k) * share / (k + (n - 2.0 * k) * share);
}

/// The ends of the pair, and how far each lies from its neighbour inside.
struct Pair {
  Interval outer, steps;
};

Pair pair_of(std::span<const double> values, std::size_t rank) {
  std::vector<double> copy(values.begin(), values.end());
  const auto low = copy.begin() + static_cast<std::ptrdiff_t>(rank - 1);
  const auto high = copy.end() - static_cast<std::ptrdiff_t>(rank);
  std::nth_element(copy.begin(), low, copy.end());
  if (low == high) return {{*low, *high}, {0.0, 0.0}};
  std::nth_element(low + 1, high, copy.end());
  const double next = *std::min_element(low + 1, high + 1), previous = *std::max_element(low, high);
  return {{*low, *high}, {next - *low, *high - previous}};
}

}  // namespace

std::optional<Interval> order_statistic_interval(std::span<const double> values, double confidence) {
  if (values.empty()) {
    return std::nullopt;
  }
  const Binomial distribution(static_cast<double>(values.size()), 0.5);
  const std::size_t rank = largest_rank(distribution, values.size(), (1.0 - confidence) / 2.0);
  if (rank == 0) {
    return std::nullopt;
  }
  return pair_of(values, rank).outer;
}

std::optional<Interval> median_interval(std::span<const double> values, double confidence) {
  constexpr std::size_t kFew = 12;
  if (values.empty() || values.size() > kFew) {
    return order_statistic_interval(values, confidence);
  }
  const Binomial distribution(static_cast<double>(values.size()), 0.5);
  const std::size_t rank = largest_rank(distribution, values.size(), (1.0 - confidence) / 2.0);
  if (rank == 0) {
    return std::nullopt;
  }
  const double weight = weight_of_next(distribution, values.size(), rank, confidence);
  const auto [outer, steps] = pair_of(values, rank);
  // The interpolation takes the density between two neighbours as even. Where a step between them is a large
  // part of the whole, there are two modes with little between, and the median may lie anywhere in the gap.
  constexpr double kGap = 0.4;
  const double gap = kGap * (outer.high - outer.low);
  return Interval{outer.low + (steps.low > gap ? 0.0 : weight * steps.low),
                  outer.high - (steps.high > gap ? 0.0 : weight * steps.high)};
}

}  // namespace jitterscope::statistics
