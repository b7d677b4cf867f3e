#include "worker/carry_out.hpp"

#include <memory>

namespace jitterscope {

RunRecord carry_out(const WorkerPlan& asked, const WorkerListeners& listeners) {
  Plan plan = asked.plan;
  for (std::vector<Trial>& group : plan.groups) {
    for (Trial& trial : group) trial.options.interrupted = listeners.interrupted;
  }
  const std::unique_ptr<Device> device = open_device(asked.device, asked.device_seed);
  RunRecord record;
  record.device = device->describe();
  Session session(*device);
  record.calibration = session.calibration();
  run_plan(session, plan, record, listeners.stage, [](const RunRecord&) {});
  return record;
}

}  // namespace jitterscope
