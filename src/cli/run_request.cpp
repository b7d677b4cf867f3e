#include "cli/run_request.hpp"

#include <algorithm>

namespace jitterscope::cli {

Plan plan_of(const RunRequest& request) {
  const Model& model = request.work.model;
  Plan plan;
  for (const Layer& layer : model.layers) {
    plan.groups.push_back({{layer.operation, request.options}});
    RunEntry entry{.count = std::max<std::int64_t>(1, layer.count()), .layers = layer.names};
    if (layer.recorded_time) entry.recorded_time = *layer.recorded_time / static_cast<double>(entry.count);
    plan.entries.push_back(std::move(entry));
  }
  plan.verify = request.verify;
  plan.ceilings = request.ceilings;
  if (request.in_sequence) plan.in_sequence = model;
  plan.recorded_cudnn = model.recorded_cudnn;
  plan.is_incomplete = model.is_incomplete;
  plan.precision_was_asked = request.precision_was_asked;
  return plan;
}

}  // namespace jitterscope::cli
