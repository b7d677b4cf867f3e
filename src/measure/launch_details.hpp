// What is asked of one launch beside its times.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "jitterscope/device.hpp"
#include "jitterscope/measurement.hpp"
#include "measure/round_timer.hpp"
#include "measure/session.hpp"

namespace jitterscope {

/// Kernels and counters, where the options ask for them; where they cannot be had, the result says why. After
/// the times, which a tracer and a profiler's hooks would slow.
void add_launch_details(Session& session, Workload& workload, const MeasureOptions& options, Result& result);

/// Kernels of an operation that was measured with these options and is no longer prepared: it is prepared
/// anew. Where they cannot be had, the result says why.
void add_kernels(Session& session, const Operation& operation, const MeasureOptions& options, Result& result);

// What is learned from the first launches of a workload, before any round.

struct FirstCall {
  Nanoseconds time;         ///< host time of the first launch, to its end
  Nanoseconds launch_time;  ///< GPU time of a later launch, roughly: rounds are shaped by it
  Nanoseconds launch_cost;  ///< host time of one launch call into a queue that is held, median
  /// A launch does not return before its queue has got ahead, so that no gate can hold it: launch_cost is
  /// that of calls into an open queue, and holds the wait.
  bool waits_for_queue = false;
};

/// A launch that only a closed gate keeps from returning is found out here, after half a second.
FirstCall make_first_call(Device& device, Queue& queue, Workload& workload, Nanoseconds events_constant);

// Which launch each traced kernel belongs to.

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

// Which kernels one launch runs, how long each takes, and how many run at once.

/// Whether a gate may hold a launch until all of it is in the queue.
enum class Gating { possible, impossible };

struct TracedWork {
  std::vector<LaunchKernel> kernels;             ///< empty where the launch runs no kernel
  std::optional<KernelConcurrency> concurrency;  ///< nothing likewise
};

/// Traces launches back to back, warm. Where kernels are on several streams, how many run at once is traced
/// behind gates, if that is possible: else it would be how fast the host launches. Throws MissingError where
/// the device cannot be traced, FailedError where records were lost.
TracedWork trace_launch(Device& device, Queue& queue, Workload& workload, Gating gating);

/// Kernels of equal launches as those of one. Throws FailedError where one has more than another.
std::vector<LaunchKernel> summarise_kernels(const std::vector<KernelsOfLaunch>& launches);

// How many kernels of a launch ran at once, by their traced times.

/// Of one launch, in whatever order its kernels are. Nothing where none of them took any time.
std::optional<KernelConcurrency> concurrency_of(const KernelsOfLaunch& kernels);

/// Of several launches of the same work, each on its own: kernels of two launches never count together. The
/// median of each value; nothing where no launch has a kernel that took time.
std::optional<KernelConcurrency> median_concurrency(const std::vector<KernelsOfLaunch>& launches);

// What the device's hardware counters say of one launch.

/// Counts one launch in each of these cache states: in each pass of each, operands are put into their state
/// as they are for times, and the launch is made alone. Throws as Device::count does.
std::vector<LaunchCounters> count_launch(Device& device, Queue& queue, Workload& workload,
                                         const std::vector<std::string>& names,
                                         const std::vector<CacheState>& caches);

/// Cache states that a result has times of, in their order.
std::vector<CacheState> timed_caches(const Result& result);

}  // namespace jitterscope
