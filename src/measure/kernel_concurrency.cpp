#include "measure/kernel_concurrency.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "statistics/statistics.hpp"

namespace jitterscope {
namespace {

// How many kernels more run from here on.
using Change = std::pair<Nanoseconds, int>;

// In order of time. Where one kernel ends as another starts, they do not run at once: the end comes first.
std::vector<Change> changes_of(const KernelsOfLaunch& kernels) {
  std::vector<Change> changes;
  for (const KernelTime& kernel : kernels) {
    if (kernel.end <= kernel.start) continue;
    changes.emplace_back(kernel.start, 1);
    changes.emplace_back(kernel.end, -1);
  }
  std::ranges::sort(changes);
  return changes;
}

std::int64_t median_count(const std::vector<double>& counts) {
  return std::llround(statistics::median(counts));
}

}  // namespace

std::optional<KernelConcurrency> concurrency_of(const KernelsOfLaunch& kernels) {
  const std::vector<Change> changes = changes_of(kernels);
  if (changes.empty()) return std::nullopt;
  std::set<std::uint32_t> streams;
  Nanoseconds all;
  for (const KernelTime& kernel : kernels) {
    if (kernel.end <= kernel.start) continue;
    streams.insert(kernel.stream);
    all += kernel.end - kernel.start;
  }
  std::int64_t running = 0, most = 0;
  Nanoseconds any_ran, last;
  for (const auto& [time, change] : changes) {
    if (running > 0) any_ran += time - last;
    running += change;
    most = std::max(most, running);
    last = time;
  }
  return KernelConcurrency{std::ssize(streams), most, std::max(1.0, all / any_ran)};
}

std::optional<KernelConcurrency> median_concurrency(const std::vector<KernelsOfLaunch>& launches) {
  std::vector<double> streams, most, mean;
  for (const KernelsOfLaunch& launch : launches) {
    const auto own = concurrency_of(launch);
    if (!own) continue;
    streams.push_back(static_cast<double>(own->streams));
    most.push_back(static_cast<double>(own->most_at_once));
    mean.push_back(own->mean_at_once);
  }
  if (mean.empty()) return std::nullopt;
  return KernelConcurrency{median_count(streams), median_count(most), statistics::median(mean)};
}

}  // namespace jitterscope
