#include "cli/study_arms.hpp"

#include "cli/provider_choice.hpp"
#include "device/can_run.hpp"
#include "jitterscope/error.hpp"

namespace jitterscope::cli {

ComparedAlternative apply_arms(const std::string& label, std::span<const AppliedArm> arms, WorkList work,
                               const MeasureOptions& options, const std::string& provider,
                               const DeviceDescription& device) {
  MeasureOptions own = options;
  for (Layer& layer : work.model.layers) {
    Trial trial{layer.operation, own};
    for (const AppliedArm& applied : arms) {
      if (applied.study->can_be_asked_of(trial.operation)) applied.arm.apply(trial);
    }
    if (trial.operation != layer.operation) layer.aten.reset();
    layer.operation = std::move(trial.operation);
    own = std::move(trial.options);
  }
  choose_provider(work, parse_provider(provider), device, true);
  return {label, std::move(work), std::move(own)};
}

std::string problem_of(const WorkList& work, const DeviceDescription& device) {
  std::string problem;
  for (const Layer& layer : work.model.layers) {
    try {
      check_can_run(layer.operation, device);
      return {};
    } catch (const UsageError& error) {
      problem = error.what();
    }
  }
  return problem;
}

}  // namespace jitterscope::cli
