#include "measure/launch_counters.hpp"

#include <algorithm>

namespace jitterscope {

std::vector<LaunchCounters> count_launch(Device& device, Queue& queue, Workload& workload,
                                         const std::vector<std::string>& names,
                                         const std::vector<CacheState>& caches) {
  // As many as go before the launches that are timed: what a pass itself leaves in the caches is gone.
  constexpr int kConditioningLaunches = 2;
  if (caches.empty()) return {};
  const std::unique_ptr<CounterReader> reader = device.count(names);
  std::vector<LaunchCounters> counters;
  for (const CacheState cache : caches) {
    const auto prepare = [&] {
      queue.launch_in_a_row(workload, kConditioningLaunches);
      queue.set_cache(cache, workload);
      queue.wait();
    };
    const auto launch = [&] {
      queue.launch(workload);
      queue.wait();
    };
    counters.push_back({cache, reader->read(prepare, launch)});
  }
  return counters;
}

std::vector<CacheState> timed_caches(const Result& result) {
  std::vector<CacheState> caches;
  for (const Measurement& measurement : result.measurements) {
    const CacheState cache = measurement.conditions.cache;
    if (std::ranges::find(caches, cache) == caches.end()) caches.push_back(cache);
  }
  return caches;
}

}  // namespace jitterscope
