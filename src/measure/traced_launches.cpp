#include "measure/traced_launches.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <utility>

#include "jitterscope/error.hpp"

namespace jitterscope {
namespace {

// Nothing where the launches do not have the same keys equally often. Of kernels with one key the first to
// start stands for the first.
template <class KeyOf>
std::optional<KernelsOfLaunch> matched(const KernelsOfLaunch& order, const KernelsOfLaunch& launch,
                                       const KeyOf& key_of) {
  std::map<decltype(key_of(order.front())), std::deque<const KernelTime*>> left;
  for (const KernelTime& kernel : launch) left[key_of(kernel)].push_back(&kernel);
  KernelsOfLaunch kernels;
  for (const KernelTime& wanted : order) {
    const auto found = left.find(key_of(wanted));
    if (found == left.end() || found->second.empty()) return std::nullopt;
    kernels.push_back(*found->second.front());
    found->second.pop_front();
  }
  return kernels;
}

}  // namespace

void launch_traced(KernelTracer& tracer, Queue& queue, Workload& workload, std::size_t number) {
  tracer.begin_launch(number);
  queue.launch(workload);
  tracer.end_launch();
}

std::vector<KernelsOfLaunch> kernels_by_launch(const std::vector<KernelTime>& traced, std::size_t launches) {
  std::vector<KernelsOfLaunch> kernels(launches);
  for (const KernelTime& kernel : traced) {
    if (kernel.launch && *kernel.launch < launches) kernels[*kernel.launch].push_back(kernel);
  }
  return kernels;
}

void require_equal_launches(const std::vector<KernelsOfLaunch>& launches) {
  for (const KernelsOfLaunch& launch : launches) {
    if (launch.size() == launches.front().size()) continue;
    throw FailedError(fmt::format(
        "the tracer reported {} kernels for one launch and {} for another of the same work: records were "
        "lost, or the work is not the same at each launch; run it again",
        launches.front().size(), launch.size()));
  }
}

KernelsOfLaunch in_order_of(const KernelsOfLaunch& order, const KernelsOfLaunch& launch) {
  const auto stream_and_name = [](const KernelTime& kernel) { return std::pair(kernel.stream, kernel.name); };
  if (auto kernels = matched(order, launch, stream_and_name)) return *std::move(kernels);
  // A graph's nodes may run on other streams at each replay.
  const auto name = [](const KernelTime& kernel) { return kernel.name; };
  if (auto kernels = matched(order, launch, name)) return *std::move(kernels);
  return launch;
}

Nanoseconds time_of(const KernelsOfLaunch& kernels) {
  if (kernels.empty()) return Nanoseconds(0);
  const auto last = std::ranges::max_element(kernels, {}, &KernelTime::end);
  return last->end - kernels.front().start;
}

}  // namespace jitterscope
