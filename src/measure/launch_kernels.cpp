#include "measure/launch_kernels.hpp"

#include <algorithm>

#include "statistics/statistics.hpp"

namespace jitterscope {
namespace {

// The reference of PyTorch's kernel times has as many.
constexpr std::size_t kLaunches = 12;

std::vector<KernelsOfLaunch> trace(Device& device, Queue& queue, Workload& workload) {
  constexpr int kWarmingLaunches = 3;
  for (int i = 0; i < kWarmingLaunches; ++i) queue.launch(workload);
  queue.wait();
  const std::unique_ptr<KernelTracer> tracer = device.trace_kernels();
  for (std::size_t i = 0; i < kLaunches; ++i) launch_traced(*tracer, queue, workload, i);
  queue.wait();
  return kernels_by_launch(tracer->stop(), kLaunches);
}

}  // namespace

std::vector<LaunchKernel> trace_launch(Device& device, Queue& queue, Workload& workload) {
  return summarise_kernels(trace(device, queue, workload));
}

std::vector<LaunchKernel> summarise_kernels(const std::vector<KernelsOfLaunch>& launches) {
  if (launches.empty()) return {};
  require_equal_launches(launches);
  std::vector<LaunchKernel> kernels;
  for (std::size_t i = 0; i < launches.front().size(); ++i) {
    std::vector<double> times;
    for (const KernelsOfLaunch& launch : launches) times.push_back((launch[i].end - launch[i].start).value());
    const auto [minimum, maximum] = std::ranges::minmax_element(times);
    kernels.push_back({launches.front()[i].name, Nanoseconds(statistics::median(times)),
                       Nanoseconds(*minimum), Nanoseconds(*maximum)});
  }
  return kernels;
}

}  // namespace jitterscope
