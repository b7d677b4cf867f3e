// What is asked of one launch beside its times.
#pragma once

#include "measure/session.hpp"

namespace jitterscope {

/// Kernels and counters, where the options ask for them; where they cannot be had, the result says why. After
/// the times, which a tracer and a profiler's hooks would slow.
void add_launch_details(Session& session, Workload& workload, const MeasureOptions& options, Result& result);

/// Kernels of an operation that was measured with these options and is no longer prepared: it is prepared
/// anew. Where they cannot be had, the result says why.
void add_kernels(Session& session, const Operation& operation, const MeasureOptions& options, Result& result);

}  // namespace jitterscope
