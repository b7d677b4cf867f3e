// What is asked of one launch beside its times.
#pragma once

#include "measure/session.hpp"

namespace jitterscope {

/// Kernels and counters, where the options ask for them; where they cannot be had, the result says why. After
/// the times, which a tracer and a profiler's hooks would slow.
void add_launch_details(Session& session, Workload& workload, const MeasureOptions& options, Result& result);

}  // namespace jitterscope
