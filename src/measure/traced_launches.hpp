// Which launch each traced kernel belongs to.
#pragma once

#include <cstdint>
#include <vector>

#include "jitterscope/device.hpp"

namespace jitterscope {

/// Launches, and lets the tracer know the launch's kernels by its number.
void launch_traced(KernelTracer& tracer, Queue& queue, Workload& workload, std::size_t number);

/// Kernels of one launch, in order of their start.
using KernelsOfLaunch = std::vector<KernelTime>;

/// Those of the launches 0 to `launches` - 1; what belongs to none of them is left out.
std::vector<KernelsOfLaunch> kernels_by_launch(const std::vector<KernelTime>& traced, std::size_t launches);

/// Throws FailedError where one launch ran more kernels than another of the same work.
void require_equal_launches(const std::vector<KernelsOfLaunch>& launches);

/// The kernels of a launch in the order in which another launch of the same work ran them. Over several
/// streams the starts come in another order from launch to launch: a kernel is told by its stream and name,
/// else by its name, else by its place. Both have as many.
KernelsOfLaunch in_order_of(const KernelsOfLaunch& order, const KernelsOfLaunch& launch);

/// From the start of the first to the end of the last; zero for a launch without kernels.
Nanoseconds time_of(const KernelsOfLaunch& kernels);

}  // namespace jitterscope
