#include "experiment/kept_rounds.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>

#include "finding/series.hpp"

namespace jitterscope {
namespace {

constexpr std::size_t kMostOfRecord = 4000, kMostOfSide = 400;
constexpr std::size_t kLeastOfSide = 20;  // fewer show no shape

// As what follows from other numbers stands in a record: more would only make it longer.
Nanoseconds with_six_digits(Nanoseconds time) {
  return Nanoseconds(std::strtod(fmt::format("{:.6g}", time.value()).c_str(), nullptr));
}

void keep_some(std::vector<Nanoseconds>& times, std::size_t most) {
  if (times.size() <= most) return;
  std::ranges::sort(times);
  std::vector<Nanoseconds> some;
  for (std::size_t i = 0; i < most; ++i) some.push_back(times[i * (times.size() - 1) / (most - 1)]);
  times = std::move(some);
}

}  // namespace

std::vector<Nanoseconds> settled_times(const Measurement& measurement) {
  std::vector<Nanoseconds> times;
  for (const Round& round : settled_rounds(measurement)) times.push_back(with_six_digits(round.time()));
  return times;
}

std::vector<Nanoseconds> settled_launches(const Measurement& measurement) {
  std::vector<Nanoseconds> times;
  for (const Round& round : settled_rounds(measurement)) {
    std::ranges::copy_if(round.launches, std::back_inserter(times),
                         [](Nanoseconds time) { return time > Nanoseconds(0); });
  }
  keep_some(times, kMostOfSide);
  std::ranges::transform(times, times.begin(), with_six_digits);
  return times;
}

void keep_some_rounds(std::span<Comparison> comparisons) {
  if (comparisons.empty()) return;
  const std::size_t most = std::min(kMostOfSide, kMostOfRecord / (2 * comparisons.size()));
  for (Comparison& comparison : comparisons) {
    for (ComparedSide* side : {&comparison.first, &comparison.second}) {
      if (most < kLeastOfSide || !comparison.layers.empty()) {
        side->rounds.clear();
        side->launches.clear();
      } else {
        keep_some(side->rounds, most);
        keep_some(side->launches, most);
      }
    }
  }
}

}  // namespace jitterscope
