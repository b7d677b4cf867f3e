#include <algorithm>
#include <cmath>
#include <limits>

#include "statistics/statistics.hpp"

namespace jitterscope::statistics {
namespace {

/// Puts the order statistics of the given ascending ranks in their places within values[first, last). Halving
/// the ranks makes m quantiles cost O(n log m), where one selection after another would cost O(n m).
void select_ranks(std::vector<double>& values, std::size_t first, std::size_t last,
                  std::span<const std::size_t> ranks) {
  if (ranks.empty() || last - first < 2) {
    return;
  }
  const std::size_t middle = ranks.size() / 2;
  const std::size_t rank = ranks[middle];
  const auto at = [&](std::size_t index) { return values.begin() + static_cast<std::ptrdiff_t>(index); };
  std::nth_element(at(first), at(rank), at(last));
  select_ranks(values, first, rank, ranks.first(middle));
  select_ranks(values, rank + 1, last, ranks.subspan(middle + 1));
}

struct Position {
  std::size_t rank;
  double fraction;
};

Position position_of(double probability, std::size_t count) {
  const double place = std::clamp(probability, 0.0, 1.0) * static_cast<double>(count - 1);
  const double rank = std::floor(place);
  return {static_cast<std::size_t>(rank), place - rank};
}

}  // namespace

double median(std::span<const double> values) { return quantiles(values, std::vector<double>{0.5}).front(); }

double median_of_readings(std::span<const double> values, double grain) {
  const double middle = median(values);
  if (grain <= 0.0) return middle;
  const auto is_near = [&](double value) { return std::abs(value - middle) <= 2.0 * grain; };
  const auto near = std::ranges::count_if(values, is_near);
  const auto equal =
      std::ranges::count_if(values, [&](double v) { return std::abs(v - middle) <= grain / 4; });
  // Finer than they vary, the grain makes few values equal, and leaves most of them far.
  if (2 * near < std::ssize(values) || 8 * equal < std::ssize(values)) return middle;
  double sum = 0.0;
  for (const double value : values) sum += is_near(value) ? value : 0.0;
  return sum / static_cast<double>(near);
}

std::vector<double> quantiles(std::span<const double> values, std::span<const double> probabilities) {
  if (values.empty()) {
    return std::vector<double>(probabilities.size(), std::numeric_limits<double>::quiet_NaN());
  }
  std::vector<std::size_t> ranks;
  for (const double probability : probabilities) {
    const Position position = position_of(probability, values.size());
    ranks.push_back(position.rank);
    ranks.push_back(std::min(position.rank + 1, values.size() - 1));
  }
  std::sort(ranks.begin(), ranks.end());
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());

  std::vector<double> copy(values.begin(), values.end());
  select_ranks(copy, 0, copy.size(), ranks);
  std::vector<double> result;
  for (const double probability : probabilities) {
    const Position position = position_of(probability, copy.size());
    const double lower = copy[position.rank];
    const double upper = copy[std::min(position.rank + 1, copy.size() - 1)];
    result.push_back(lower + position.fraction * (upper - lower));
  }
  return result;
}

}  // namespace jitterscope::statistics
