#include "measure/launch_kernels.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "jitterscope/error.hpp"
#include "statistics/statistics.hpp"

namespace jitterscope {
namespace {

// The reference of PyTorch's kernel times has as many.
constexpr std::size_t kLaunches = 12;

std::vector<KernelTime> trace(Device& device, Queue& queue, Workload& workload) {
  constexpr int kWarmingLaunches = 3;
  for (int i = 0; i < kWarmingLaunches; ++i) queue.launch(workload);
  queue.wait();
  const std::unique_ptr<KernelTracer> tracer = device.trace_kernels();
  for (std::size_t i = 0; i < kLaunches; ++i) queue.launch(workload);
  queue.wait();
  return tracer->stop();
}

}  // namespace

std::vector<LaunchKernel> trace_launch(Device& device, Queue& queue, Workload& workload) {
  const std::vector<KernelTime> traced = trace(device, queue, workload);
  if (traced.size() % kLaunches != 0) {
    throw FailedError(
        fmt::format("the tracer reported {} kernels for {} equal launches: some records were lost",
                    traced.size(), kLaunches));
  }
  return summarise_kernels(traced, kLaunches);
}

std::vector<LaunchKernel> summarise_kernels(const std::vector<KernelTime>& traced, std::size_t launches) {
  if (launches == 0) return {};
  const std::size_t count = traced.size() / launches;
  std::vector<LaunchKernel> kernels(count);
  for (std::size_t i = 0; i < count; ++i) {
    std::vector<double> times;
    for (std::size_t launch = 0; launch < launches; ++launch) {
      const KernelTime& kernel = traced[launch * count + i];
      times.push_back((kernel.end - kernel.start).value());
    }
    const auto [minimum, maximum] = std::minmax_element(times.begin(), times.end());
    kernels[i] = {traced[i].name, Nanoseconds(statistics::median(times)), Nanoseconds(*minimum),
                  Nanoseconds(*maximum)};
  }
  return kernels;
}

}  // namespace jitterscope
