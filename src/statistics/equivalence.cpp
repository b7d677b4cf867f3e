#include <algorithm>
#include <cmath>
#include <limits>

#include "statistics/least_squares.hpp"
#include "statistics/statistics.hpp"

namespace jitterscope::statistics {
namespace {

struct Level {
  double mean = 0.0;
  double error_squared = 0.0;
  double degrees_of_freedom = 0.0;
};

/// Of the log medians of consecutive blocks, at least four of them. Medians of 8 make spikes harmless and
/// shorten the memory of the noise; where values are few (launches of 100 ms), blocks are shorter. The last
/// block takes the remainder, so that no value is dropped.
std::optional<Level> level_of(std::span<const double> values) {
  constexpr std::size_t kLeastBlocks = 4, kLongestBlock = 8;
  if (values.size() < kLeastBlocks) {
    return std::nullopt;
  }
  const std::size_t length = std::min(values.size() / kLeastBlocks, kLongestBlock);
  const std::size_t blocks = values.size() / length;
  std::vector<double> logs;
  for (std::size_t block = 0; block < blocks; ++block) {
    const std::size_t begin = block * length;
    const double middle = median(values.subspan(begin, block + 1 == blocks ? values.size() - begin : length));
    if (!(middle > 0.0)) {
      return std::nullopt;
    }
    logs.push_back(std::log(middle));
  }
  const auto count = static_cast<double>(blocks);
  Level level{.degrees_of_freedom = count - 1.0};
  for (const double value : logs) {
    level.mean += value / count;
  }
  for (const double value : logs) {
    level.error_squared += (value - level.mean) * (value - level.mean) / (count * (count - 1.0));
  }
  return level;
}

/// Welch's half-width at 90 % (two one-sided 95 % limits): the two stretches may differ in noise.
double half_width(const Level& first, const Level& second) {
  const double total = first.error_squared + second.error_squared;
  const double denominator = first.error_squared * first.error_squared / first.degrees_of_freedom +
                             second.error_squared * second.error_squared / second.degrees_of_freedom;
  return denominator > 0.0 ? student_critical(0.90, total * total / denominator) * std::sqrt(total) : 0.0;
}

}  // namespace

Equivalence compare_levels(std::span<const double> first, std::span<const double> second, double margin) {
  const std::optional<Level> before = level_of(first);
  const std::optional<Level> after = level_of(second);
  if (!before || !after) {
    constexpr double kUnknown = std::numeric_limits<double>::infinity();
    return {.shift = 0.0, .interval = {-kUnknown, kUnknown}, .equivalent = false};
  }
  const double shift = after->mean - before->mean;
  const double half = half_width(*before, *after);
  const double limit = std::log1p(margin);
  return {.shift = shift,
          .interval = {shift - half, shift + half},
          .equivalent = -limit < shift - half && shift + half < limit};
}

}  // namespace jitterscope::statistics
