// Modes from a kernel density estimate, and slow values that recur. Each choice guards against false modes:
// - The bandwidth is the tightest of three scales. A second mode inflates the deviation and may inflate the
//   interquartile range, but half of the values still lie within one mode (Silverman 1986 with one more
//   scale).
// - The bandwidth is at least half a timer grain, or each tick would become a mode, and at least a fifth of
//   the smallest distance of modes worth telling apart.
// - A valley must be low, and deeper than counting noise.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "base/random.hpp"
#include "statistics/statistics.hpp"

namespace jitterscope::statistics {
namespace {

constexpr std::size_t kMostValues = 20000;
constexpr double kLeastWeight = 0.05;
constexpr double kHighestValley = 0.5;
/// In standard errors of the difference of two counts. At 2.5 one skewed sample of 200 in 200 shows a second
/// mode, at 3 one in 1,000; at 3.5 two clean modes are only seen in more than 100 values.
constexpr double kSignificance = 3.0;
constexpr std::ptrdiff_t kBinsPerBandwidth = 4;
constexpr std::ptrdiff_t kKernelBins = 4 * kBinsPerBandwidth;

/// Returns sorted values. Of more than kMostValues it takes one from each of as many equal stretches, at a
/// random place (fixed seed), because a fixed stride could keep step with a period in the series.
std::vector<double> sorted_sample(std::span<const double> values) {
  std::vector<double> sample;
  if (values.size() <= kMostValues) {
    sample.assign(values.begin(), values.end());
  } else {
    Random random(1);
    for (std::size_t i = 0; i < kMostValues; ++i) {
      const std::size_t begin = values.size() * i / kMostValues;
      const std::size_t end = values.size() * (i + 1) / kMostValues;
      sample.push_back(values[begin + random.below(end - begin)]);
    }
  }
  std::sort(sample.begin(), sample.end());
  return sample;
}

double middle_of(std::span<const double> sorted) {
  return (sorted[(sorted.size() - 1) / 2] + sorted[sorted.size() / 2]) / 2.0;
}

/// Step of a coarse timer. If most neighbours are equal: the lower quartile of the other gaps (the smallest
/// gap would trust a single odd value). 0 if the values are not quantised.
double grain_of(std::span<const double> sorted) {
  const double tolerance = 1e-9 * std::abs(middle_of(sorted));
  std::vector<double> gaps;
  for (std::size_t i = 1; i < sorted.size(); ++i) {
    if (sorted[i] - sorted[i - 1] > tolerance) {
      gaps.push_back(sorted[i] - sorted[i - 1]);
    }
  }
  if (gaps.empty() || gaps.size() > sorted.size() / 2) {
    return 0.0;
  }
  const auto quartile = gaps.begin() + static_cast<std::ptrdiff_t>((gaps.size() - 1) / 4);
  std::nth_element(gaps.begin(), quartile, gaps.end());
  return *quartile;
}

double shortest_half(std::span<const double> sorted) {
  const std::size_t half = sorted.size() / 2;
  double shortest = sorted.back() - sorted.front();
  for (std::size_t i = 0; i + half < sorted.size(); ++i) {
    shortest = std::min(shortest, sorted[i + half] - sorted[i]);
  }
  return shortest;
}

double bandwidth_of(std::span<const double> sorted, double minimum_distance) {
  constexpr double kNormalHalf = 1.349;  // width of the middle half of N(0, 1)
  const auto count = static_cast<double>(sorted.size());
  const double quartiles = sorted[sorted.size() * 3 / 4] - sorted[sorted.size() / 4];
  const double scale = std::min(quartiles, shortest_half(sorted)) / kNormalHalf;
  const double silverman = 0.9 * scale * std::pow(count, -0.2);
  return std::max({silverman, 0.5 * grain_of(sorted), 0.2 * minimum_distance * std::abs(middle_of(sorted))});
}

/// Density on a grid, in counts per bin, and the bin of each value. Gaps longer than twice the kernel's reach
/// are shortened to that, since the density is 0 in them; so far spikes need no grid.
struct Density {
  std::vector<std::ptrdiff_t> bin_of_value;
  std::vector<double> height;
};

Density density_of(std::span<const double> sorted, double bandwidth) {
  const double bin_width = bandwidth / static_cast<double>(kBinsPerBandwidth);
  constexpr double kLongestGap = 2.0 * static_cast<double>(kKernelBins) + 2.0;
  Density density;
  double place = static_cast<double>(kKernelBins);
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    place += i == 0 ? 0.0 : std::min((sorted[i] - sorted[i - 1]) / bin_width, kLongestGap);
    density.bin_of_value.push_back(std::lround(place));
  }
  const auto bins = static_cast<std::size_t>(density.bin_of_value.back() + kKernelBins + 1);
  std::vector<double> counts(bins, 0.0);
  for (const std::ptrdiff_t bin : density.bin_of_value) {
    counts[static_cast<std::size_t>(bin)] += 1.0;
  }
  density.height.assign(bins, 0.0);
  for (std::ptrdiff_t offset = -kKernelBins; offset <= kKernelBins; ++offset) {
    const double distance = static_cast<double>(offset) / static_cast<double>(kBinsPerBandwidth);
    const double weight = std::exp(-0.5 * distance * distance) /
                          (std::sqrt(2.0 * std::numbers::pi) * static_cast<double>(kBinsPerBandwidth));
    for (std::ptrdiff_t bin = kKernelBins; bin <= density.bin_of_value.back(); ++bin) {
      density.height[static_cast<std::size_t>(bin + offset)] +=
          weight * counts[static_cast<std::size_t>(bin)];
    }
  }
  return density;
}

/// A hill of the density: its top, and the valley before it (height 0 for the first).
struct Hill {
  double top = 0.0;
  std::size_t first_value = 0;  ///< index into the sorted values
  double valley_before = 0.0;
};

std::vector<Hill> hills_of(const Density& density) {
  std::vector<Hill> hills{Hill{}};
  double lowest = 0.0;
  std::ptrdiff_t lowest_bin = 0;
  bool falling = false;
  for (std::size_t bin = 0; bin < density.height.size(); ++bin) {
    const double height = density.height[bin];
    if (!falling && height < hills.back().top) {
      falling = true;
      lowest = height;
      lowest_bin = static_cast<std::ptrdiff_t>(bin);
    } else if (falling && height <= lowest) {
      lowest = height;
      lowest_bin = static_cast<std::ptrdiff_t>(bin);
    } else if (falling) {
      const auto first =
          std::lower_bound(density.bin_of_value.begin(), density.bin_of_value.end(), lowest_bin);
      hills.push_back({height, static_cast<std::size_t>(first - density.bin_of_value.begin()), lowest});
      falling = false;
    }
    if (!falling) {
      hills.back().top = std::max(hills.back().top, height);
    }
  }
  return hills;
}

constexpr double kWindow = 2.0 * static_cast<double>(kBinsPerBandwidth) / std::numbers::inv_sqrtpi;

/// True if the valley separates two modes. The variance of a Gaussian kernel estimate is that of a Poisson
/// count in a window of 2·sqrt(pi) bandwidths.
bool is_parted(double top, double valley) {
  const double difference = kWindow * (top - valley);
  return valley < kHighestValley * top && difference > kSignificance * std::sqrt(kWindow * (top + valley));
}

/// Removes hills[index]. The deeper of its two valleys now separates its neighbours, which take its values on
/// either side.
void drop(std::vector<Hill>& hills, std::size_t index) {
  if (index == 0) {
    hills[1].first_value = 0;
    hills[1].valley_before = 0.0;
  } else if (index + 1 < hills.size() && hills[index].valley_before < hills[index + 1].valley_before) {
    hills[index + 1].first_value = hills[index].first_value;
    hills[index + 1].valley_before = hills[index].valley_before;
  }
  hills.erase(hills.begin() + static_cast<std::ptrdiff_t>(index));
}

/// Drops hills too low to be a mode even on their own. Far tails make thousands of them, and the following
/// search is quadratic in their number.
std::vector<Hill> without_specks(const std::vector<Hill>& hills) {
  double tallest = 0.0;
  for (const Hill& hill : hills) {
    tallest = std::max(tallest, hill.top);
  }
  std::vector<Hill> kept;
  Hill deepest{.valley_before = std::numeric_limits<double>::infinity()};  // valley since the last kept hill
  for (const Hill& hill : hills) {
    if (hill.valley_before < deepest.valley_before) {
      deepest = hill;
    }
    if (hill.top == tallest || is_parted(hill.top, 0.0)) {
      kept.push_back({hill.top, deepest.first_value, deepest.valley_before});
      deepest.valley_before = std::numeric_limits<double>::infinity();
    }
  }
  kept.front().first_value = 0;
  return kept;
}

std::span<const double> values_of(const std::vector<Hill>& hills, std::size_t index,
                                  std::span<const double> sorted) {
  const std::size_t end = index + 1 < hills.size() ? hills[index + 1].first_value : sorted.size();
  return sorted.subspan(hills[index].first_value, end - hills[index].first_value);
}

/// True if hills[index] is no mode of its own beside a neighbour that is at least as tall.
bool belongs_to_neighbour(const std::vector<Hill>& hills, std::size_t index, std::span<const double> sorted,
                          double distance) {
  const std::span<const double> own = values_of(hills, index, sorted);
  if (static_cast<double>(own.size()) < kLeastWeight * static_cast<double>(sorted.size())) {
    return true;
  }
  const auto joins = [&](std::size_t neighbour, double valley) {
    const std::span<const double> others = values_of(hills, neighbour, sorted);
    return hills[neighbour].top >= hills[index].top &&
           (!is_parted(hills[index].top, valley) || others.empty() ||
            std::abs(middle_of(others) - middle_of(own)) < distance);
  };
  return (index > 0 && joins(index - 1, hills[index].valley_before)) ||
         (index + 1 < hills.size() && joins(index + 1, hills[index + 1].valley_before));
}

/// Drops the lowest hill that is no mode, until all are modes.
void keep_modes(std::vector<Hill>& hills, std::span<const double> sorted, double distance) {
  while (hills.size() > 1) {
    std::size_t lowest = hills.size();
    for (std::size_t i = 0; i < hills.size(); ++i) {
      if ((lowest == hills.size() || hills[i].top < hills[lowest].top) &&
          belongs_to_neighbour(hills, i, sorted, distance)) {
        lowest = i;
      }
    }
    if (lowest == hills.size()) {
      return;
    }
    drop(hills, lowest);
  }
}

}  // namespace

std::vector<ModeEstimate> find_modes(std::span<const double> values, double minimum_distance) {
  if (values.empty()) {
    return {};
  }
  const std::vector<double> sorted = sorted_sample(values);
  const double bandwidth = bandwidth_of(sorted, minimum_distance);
  if (!(bandwidth > 0.0)) {
    return {{.location = middle_of(sorted), .weight = 1.0}};
  }
  std::vector<Hill> hills = without_specks(hills_of(density_of(sorted, bandwidth)));
  keep_modes(hills, sorted, minimum_distance * std::abs(middle_of(sorted)));
  std::vector<ModeEstimate> modes;
  for (std::size_t i = 0; i < hills.size(); ++i) {
    const std::span<const double> members = values_of(hills, i, sorted);
    modes.push_back({.location = middle_of(members),
                     .weight = static_cast<double>(members.size()) / static_cast<double>(sorted.size())});
  }
  return modes;
}

namespace {

double log_likelihood(double slow, double all) {
  const double fast = all - slow;
  const double of_slow = slow > 0.0 ? slow * std::log(slow / all) : 0.0;
  return of_slow + (fast > 0.0 ? fast * std::log(fast / all) : 0.0);
}

/// For each remainder: number of values, and number of slow ones.
struct Remainders {
  std::vector<double> all, slow;
};

Remainders remainders_of(std::span<const std::int64_t> numbers, std::span<const double> values,
                         double boundary, std::int64_t period) {
  Remainders remainders;
  remainders.all.resize(static_cast<std::size_t>(period));
  remainders.slow.resize(static_cast<std::size_t>(period));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto remainder = static_cast<std::size_t>(numbers[i] % period);
    remainders.all[remainder] += 1.0;
    remainders.slow[remainder] += values[i] > boundary ? 1.0 : 0.0;
  }
  return remainders;
}

}  // namespace

std::optional<RecurrenceEstimate> find_recurrence(std::span<const std::int64_t> numbers,
                                                  std::span<const double> values, double boundary,
                                                  double evidence) {
  constexpr std::int64_t kLongest = 128;
  // On a CPU that others share, 5 to 6 % of the calls are held up, or take half the time while a core is
  // free.
  constexpr double kLeastShare = 0.9;
  const auto count = static_cast<double>(values.size());
  const auto slow_values =
      static_cast<double>(std::ranges::count_if(values, [&](double value) { return value > boundary; }));
  const double by_chance = log_likelihood(slow_values, count);
  for (std::int64_t period = 2; period <= kLongest; ++period) {
    const Remainders remainders = remainders_of(numbers, values, boundary, period);
    RecurrenceEstimate found{.period = period};
    double right = 0.0, slow_in_place = 0.0, in_place = 0.0;
    bool all_are_seen = true;
    for (std::size_t i = 0; i < remainders.all.size(); ++i) {
      const double all = remainders.all[i], slow = remainders.slow[i];
      all_are_seen = all_are_seen && all > 0.0;
      const bool is_slow = slow > all / 2.0;
      found.slow += is_slow ? 1 : 0;
      right += is_slow ? slow : all - slow;
      slow_in_place += is_slow ? slow : 0.0;
      in_place += is_slow ? all : 0.0;
    }
    if (!all_are_seen) return std::nullopt;  // nor are all of a longer period
    if (found.slow == 0 || found.slow == period) continue;
    found.share = right / count;
    const double recurring = log_likelihood(slow_in_place, in_place) +
                             log_likelihood(slow_values - slow_in_place, count - in_place);
    const double patterns = static_cast<double>(period) * std::log(2.0);
    if (found.share >= kLeastShare && recurring - by_chance > evidence + patterns) return found;
  }
  return std::nullopt;
}

}  // namespace jitterscope::statistics
