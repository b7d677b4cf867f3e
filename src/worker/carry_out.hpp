// A plan that another process made, carried out in this one.
#pragma once

#include <functional>

#include "experiment/run_plan.hpp"
#include "worker/worker_plan.hpp"

namespace jitterscope {

/// Told of each stage, and asked whether to stop.
struct WorkerListeners {
  StageListener stage;
  std::function<bool()> interrupted;
};
/// Opens the device, carries the plan out and returns the record of `run`. Throws what opening or measuring
/// throws; what went wrong with one trial stands in its result.
RunRecord carry_out(const WorkerPlan& plan, const WorkerListeners& listeners);

}  // namespace jitterscope
