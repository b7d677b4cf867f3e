#include "measure/launch_kernels.hpp"

#include <algorithm>

#include "measure/gate_guard.hpp"
#include "measure/kernel_concurrency.hpp"
#include "statistics/statistics.hpp"

namespace jitterscope {
namespace {

// The reference of PyTorch's kernel times has as many.
constexpr std::size_t kLaunches = 12;

std::vector<KernelsOfLaunch> trace_back_to_back(Device& device, Queue& queue, Workload& workload) {
  constexpr int kWarmingLaunches = 3;
  queue.launch_in_a_row(workload, kWarmingLaunches);
  queue.wait();
  const std::unique_ptr<KernelTracer> tracer = device.trace_kernels();
  for (std::size_t i = 0; i < kLaunches; ++i) launch_traced(*tracer, queue, workload, i);
  queue.wait();
  return kernels_by_launch(tracer->stop(), kLaunches);
}

// A gate for each launch: one fits behind it where gates are possible at all.
std::vector<KernelsOfLaunch> trace_behind_gates(Device& device, Queue& queue, Workload& workload) {
  const std::unique_ptr<KernelTracer> tracer = device.trace_kernels();
  for (std::size_t i = 0; i < kLaunches; ++i) {
    GateGuard gate(queue);
    gate.close();
    launch_traced(*tracer, queue, workload, i);
    gate.open();
    queue.wait();
  }
  return kernels_by_launch(tracer->stop(), kLaunches);
}

}  // namespace

TracedWork trace_launch(Device& device, Queue& queue, Workload& workload, Gating gating) {
  const std::vector<KernelsOfLaunch> launches = trace_back_to_back(device, queue, workload);
  TracedWork traced{summarise_kernels(launches), median_concurrency(launches)};
  if (gating == Gating::possible && traced.concurrency && traced.concurrency->streams > 1) {
    traced.concurrency = median_concurrency(trace_behind_gates(device, queue, workload));
  }
  return traced;
}

std::vector<LaunchKernel> summarise_kernels(const std::vector<KernelsOfLaunch>& launches) {
  if (launches.empty()) return {};
  require_equal_launches(launches);
  const KernelsOfLaunch& first = launches.front();
  std::vector<std::vector<double>> times(first.size());
  for (const KernelsOfLaunch& launch : launches) {
    const KernelsOfLaunch kernels = in_order_of(first, launch);
    for (std::size_t i = 0; i < first.size(); ++i)
      times[i].push_back((kernels[i].end - kernels[i].start).value());
  }
  std::vector<LaunchKernel> kernels;
  for (std::size_t i = 0; i < first.size(); ++i) {
    const auto [minimum, maximum] = std::ranges::minmax_element(times[i]);
    kernels.push_back({first[i].name, Nanoseconds(statistics::median(times[i])), Nanoseconds(*minimum),
                       Nanoseconds(*maximum)});
  }
  return kernels;
}

}  // namespace jitterscope
