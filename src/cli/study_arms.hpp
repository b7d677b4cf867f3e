// What the arms of studies make of the work, as alternatives of a comparison.
#pragma once

#include <span>
#include <string>

#include "cli/pairing.hpp"
#include "study/study.hpp"

namespace jitterscope::cli {

/// An arm, and the study that it is of.
struct AppliedArm {
  const study::Study* study = nullptr;
  study::Arm arm;
};

/// The work with arms applied, each to what its study can be asked of as the ones before left it. Which
/// library runs a layer is chosen for what has become of it, by `provider`.
ComparedAlternative apply_arms(const std::string& label, std::span<const AppliedArm> arms, WorkList work,
                               const MeasureOptions& options, const std::string& provider,
                               const DeviceDescription& device);

/// The reason why the device cannot run any of the work; empty where it can.
std::string problem_of(const WorkList& work, const DeviceDescription& device);

}  // namespace jitterscope::cli
