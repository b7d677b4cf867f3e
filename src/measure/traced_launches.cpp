#include "measure/traced_launches.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "jitterscope/error.hpp"

namespace jitterscope {

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

Nanoseconds time_of(const KernelsOfLaunch& kernels) {
  if (kernels.empty()) return Nanoseconds(0);
  const auto last = std::ranges::max_element(kernels, {}, &KernelTime::end);
  return last->end - kernels.front().start;
}

}  // namespace jitterscope
