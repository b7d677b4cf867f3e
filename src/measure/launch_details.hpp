// Details of a launch beside its times: first call, kernels, concurrency and counters.
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

/// Adds kernels and counters if the options ask for them; if they are unavailable, the result says why. Call
/// it after the times, which the tracer and the profiler's hooks would slow.
void add_launch_details(Session& session, Workload& workload, const MeasureOptions& options, Result& result);

/// Adds the kernels of an operation that was measured with these options: it is prepared again. If they are
/// unavailable, the result says why.
void add_kernels(Session& session, const Operation& operation, const MeasureOptions& options, Result& result);

// The times of a workload's first launches, before any round.

struct FirstCall {
  Nanoseconds time;         ///< host time of the first launch, to its end
  Nanoseconds launch_time;  ///< approximate GPU time of a later launch, used to shape rounds
  Nanoseconds launch_cost;  ///< median host time of a launch call into a held queue
  /// A launch returns only once its queue has got ahead, so no queue can be held for it. launch_cost is then
  /// for calls into an open queue, and includes the wait.
  bool waits_for_queue = false;
};

/// Takes half a second to find out that a launch returns only once the queue is released. `decisions` say how
/// many launches there are where processes are in step.
FirstCall make_first_call(Device& device, Queue& queue, Workload& workload, Nanoseconds events_constant,
                          Decisions& decisions);
/// The same, for a process that decides alone.
FirstCall make_first_call(Device& device, Queue& queue, Workload& workload, Nanoseconds events_constant);

// Assigns traced kernels to launches.

/// Launches the workload under this number, by which the tracer marks its kernels.
void launch_traced(KernelTracer& tracer, Queue& queue, Workload& workload, std::size_t number);

/// Kernels of one launch, in order of their start.
using KernelsOfLaunch = std::vector<KernelTime>;

/// Returns the kernels of launches 0 to `launches` - 1; other kernels are left out.
std::vector<KernelsOfLaunch> kernels_by_launch(const std::vector<KernelTime>& traced, std::size_t launches);

/// Throws FailedError if launches of the same work ran different numbers of kernels.
void require_equal_launches(const std::vector<KernelsOfLaunch>& launches);

/// Returns a launch's kernels in the order in which another launch of the same work ran them. With several
/// streams the order of starts varies: kernels are matched by stream and name, else by name, else by place.
/// Both launches have equally many.
KernelsOfLaunch in_order_of(const KernelsOfLaunch& order, const KernelsOfLaunch& launch);

/// Returns the time from the first kernel's start to the last one's end; zero without kernels.
Nanoseconds time_of(const KernelsOfLaunch& kernels);

// Traces the kernels of one launch, how long each takes, and how many run at once.

/// Whether a held queue can take all of a launch.
enum class Holding { possible, impossible };

struct TracedWork {
  std::vector<LaunchKernel> kernels;             ///< empty if the launch runs no kernel
  std::optional<KernelConcurrency> concurrency;  ///< nullopt if the launch runs no kernel
};

/// Traces warm launches back to back. If kernels run on several streams, their concurrency is traced in held
/// queues, if possible: otherwise it would depend on how fast the host launches. Throws MissingError if the
/// device cannot be traced, FailedError if records were lost.
TracedWork trace_launch(Device& device, Queue& queue, Workload& workload, Holding holding);

/// Returns the kernels of equal launches as those of one. Throws FailedError if their numbers differ.
std::vector<LaunchKernel> summarise_kernels(const std::vector<KernelsOfLaunch>& launches);

// Computes how many kernels of a launch ran at once, from their traced times.

/// For one launch, with its kernels in any order. nullopt if none of them took time.
std::optional<KernelConcurrency> concurrency_of(const KernelsOfLaunch& kernels);

/// Returns the median of each value over launches of the same work, each computed alone, so that kernels of
/// two launches never count together. nullopt if no kernel took time.
std::optional<KernelConcurrency> median_concurrency(const std::vector<KernelsOfLaunch>& launches);

// Reads the device's hardware counters for one launch.

/// Counts one launch in each of these cache states. In each pass the operands are put into that state as for
/// times, and the launch is made alone. Throws as Device::count does.
std::vector<LaunchCounters> count_launch(Device& device, Queue& queue, Workload& workload,
                                         const std::vector<std::string>& names,
                                         const std::vector<CacheState>& caches);

/// Returns the cache states for which a result has times, in order.
std::vector<CacheState> timed_caches(const Result& result);

}  // namespace jitterscope
