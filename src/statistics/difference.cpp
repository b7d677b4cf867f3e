#include "statistics/difference.hpp"

#include <algorithm>
#include <boost/math/distributions/normal.hpp>
#include <cmath>
#include <stdexcept>
#include <vector>

namespace jitterscope::statistics {
namespace {

// Above it the normal approximation is within a rank of the exact one, and counting takes long.
constexpr std::size_t kMostCounted = 20;

std::optional<std::vector<double>> logarithms(std::span<const double> values) {
  std::vector<double> logs;
  for (const double value : values) {
    if (!(value > 0.0)) return std::nullopt;
    logs.push_back(std::log(value));
  }
  return logs;
}

// Ways in which U comes out at each value: f(n, m, u) = f(n-1, m, u-m) + f(n, m-1, u), as one generating
// function, the Gaussian binomial coefficient.
std::vector<double> counts_of_u(std::size_t n, std::size_t m) {
  std::vector<double> counts(n * m + 1, 0.0);
  counts[0] = 1.0;
  for (std::size_t i = 1; i <= n; ++i) {
    for (std::size_t u = counts.size(); u-- > m + i;) counts[u] -= counts[u - m - i];
    for (std::size_t u = i; u < counts.size(); ++u) counts[u] += counts[u - i];
  }
  return counts;
}

// The largest k with P(U < k) <= tail: the k-th smallest and k-th largest difference bound the shift.
std::size_t exact_rank(std::size_t n, std::size_t m, double tail) {
  const std::vector<double> counts = counts_of_u(n, m);
  double total = 0.0;
  for (const double count : counts) total += count;
  std::size_t rank = 0;
  for (double below = 0.0; rank < counts.size(); ++rank) {
    below += counts[rank];
    if (below > tail * total) break;
  }
  return rank;
}

std::size_t approximate_rank(std::size_t n, std::size_t m, double tail) {
  const auto pairs = static_cast<double>(n * m), all = static_cast<double>(n + m + 1);
  const double z = boost::math::quantile(boost::math::complement(boost::math::normal(), tail));
  const double rank = std::floor(pairs / 2.0 - z * std::sqrt(pairs * all / 12.0) + 0.5);
  return rank < 0.0 ? 0 : static_cast<std::size_t>(rank);
}

std::vector<double> differences(const std::vector<double>& first, const std::vector<double>& second) {
  std::vector<double> all;
  all.reserve(first.size() * second.size());
  for (const double before : first) {
    for (const double after : second) all.push_back(after - before);
  }
  std::sort(all.begin(), all.end());
  return all;
}

std::vector<double> cycles_of(const ClockedTimes& sample) {
  std::vector<double> cycles;
  for (std::size_t i = 0; i < sample.times.size(); ++i) cycles.push_back(sample.times[i] * sample.clocks[i]);
  return cycles;
}

void require_clocks(const ClockedTimes& sample) {
  if (sample.clocks.empty() || sample.clocks.size() == sample.times.size()) return;
  throw std::invalid_argument("there is one clock for each time, or none at all");
}

}  // namespace

std::optional<Shift> compare_samples(std::span<const double> first, std::span<const double> second,
                                     double confidence) {
  const auto before = logarithms(first), after = logarithms(second);
  if (!before || !after || before->empty() || after->empty()) return std::nullopt;
  const std::size_t n = before->size(), m = after->size();
  const double tail = (1.0 - confidence) / 2.0;
  const bool is_counted = std::max(n, m) <= kMostCounted;
  const std::size_t rank = is_counted ? exact_rank(n, m, tail) : approximate_rank(n, m, tail);
  if (rank == 0) return std::nullopt;
  const std::vector<double> all = differences(*before, *after);
  return Shift{median(all), {all[rank - 1], all[all.size() - rank]}};
}

std::optional<Difference> find_difference(const ClockedTimes& first, const ClockedTimes& second,
                                          double confidence) {
  require_clocks(first);
  require_clocks(second);
  const std::optional<Shift> time = compare_samples(first.times, second.times, confidence);
  if (!time) return std::nullopt;
  Difference difference{.time = *time, .cycles = {}, .differs = time->excludes_zero()};
  if (first.clocks.empty() || second.clocks.empty()) return difference;
  difference.cycles = compare_samples(cycles_of(first), cycles_of(second), confidence);
  if (!difference.cycles) return std::nullopt;
  const bool same_side = (difference.time.value > 0.0) == (difference.cycles->value > 0.0);
  difference.differs = difference.differs && difference.cycles->excludes_zero() && same_side;
  return difference;
}

}  // namespace jitterscope::statistics
