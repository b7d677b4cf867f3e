#include "measure/launch_details.hpp"

#include <utility>

#include "jitterscope/error.hpp"
#include "measure/launch_counters.hpp"
#include "measure/launch_kernels.hpp"
#include "measure/operand_sets.hpp"

namespace jitterscope {
namespace {

// The times are there already: what is missing for more must not cost them. A name that is no counter shows
// only here where the device could not know it before.
template <class Step>
std::optional<Shortfall> shortfall_of(const Step& step) {
  try {
    step();
  } catch (const InterruptedError&) {
    throw;
  } catch (const Error& error) {
    return Shortfall{error.exit_code(), error.what()};
  }
  return std::nullopt;
}

void trace(Session& session, Workload& workload, const MeasureOptions& options, Result& result) {
  const bool is_held = options.queue != QueueMode::eager && !result.waits_for_device;
  TracedWork traced = trace_launch(session.device(), session.queue(), workload,
                                   is_held ? Gating::possible : Gating::impossible);
  result.kernels = std::move(traced.kernels);
  result.concurrency = traced.concurrency;
}

}  // namespace

void add_launch_details(Session& session, Workload& workload, const MeasureOptions& options, Result& result) {
  Device& device = session.device();
  if (options.kernels) {
    result.without_kernels = shortfall_of([&] { trace(session, workload, options, result); });
  }
  if (!options.counters) return;
  // After the tracer, since the profiler's hooks may slow what runs beside them.
  result.without_counters = shortfall_of([&] {
    result.counters =
        count_launch(device, session.queue(), workload, *options.counters, timed_caches(result));
  });
}

void add_kernels(Session& session, const Operation& operation, const MeasureOptions& options,
                 Result& result) {
  result.without_kernels = shortfall_of([&] {
    RotatingWorkload workload = prepare_sets(session.device(), operation, options, kAnyNumberOfLaunches);
    trace(session, workload, options, result);
  });
}

}  // namespace jitterscope
