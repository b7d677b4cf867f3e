// What alternatives have in common, item by item: the plan of a comparison.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cli/targets.hpp"
#include "experiment/comparison.hpp"
#include "experiment/run_plan.hpp"
#include "study/study.hpp"

namespace jitterscope::cli {

/// One of the things that are compared, as it was read.
struct ComparedAlternative {
  std::string label;  ///< what sets it apart: "engine=best", "nhwc", or the target itself
  WorkList work;
  MeasureOptions options;  ///< its conditions
};

struct ComparedWork {
  ComparisonItems items;
  Plan plan;                                 ///< a group for each item, with a trial for each alternative
  std::vector<std::string> notes;            ///< sentences about what is compared
  std::vector<LeftOutLayers> left_out = {};  ///< of networks
};

/// Pairs layers by their names in the network, operations in the order typed. Loads, precision, time limit
/// and locked clock are the shared ones. Throws UsageError where alternatives have nothing in common, or no
/// item can run on the device on all sides.
ComparedWork pair_alternatives(const std::vector<ComparedAlternative>& alternatives,
                               const MeasureOptions& shared, const DeviceDescription& device);

/// Says where single operations, or layers of the same name, compute or move unlike amounts.
void note_unlike_work(const std::vector<ComparedAlternative>& alternatives, ComparedWork& work);

// What the arms of studies make of the work, as alternatives of a comparison.

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

// A comparison carried out: its alternatives beside each other in fresh processes.

struct Invocation;

/// The alternatives, and how long comparing them takes: for --dry-run.
std::string comparison_plan_text(const ComparedWork& work, const ComparisonRecord& record);

/// In as many processes as the record asks for, with a live line; where there is a budget, none but the first
/// is started after it. Fills what the record does not have yet: all but alternatives, device and
/// environment. Returns how long each process took.
std::vector<Nanoseconds> compare_in_processes(const ComparedWork& work, const Invocation& invocation,
                                              ComparisonRecord& record,
                                              std::optional<Nanoseconds> budget = {});

}  // namespace jitterscope::cli
