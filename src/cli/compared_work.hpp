// Pairs the items of alternatives into the plan of a comparison, and carries the comparison out.
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

/// One of the alternatives, as it was read.
struct ComparedAlternative {
  std::string label;  ///< distinguishing part: "engine=best", "nhwc", or the target itself
  WorkList work;
  MeasureOptions options;  ///< its conditions
};

struct ComparedWork {
  ComparisonItems items;
  Plan plan;                                 ///< a group for each item, with a trial for each alternative
  std::vector<std::string> notes;            ///< about the comparison, as sentences
  std::vector<LeftOutLayers> left_out = {};  ///< for networks
};

/// Pairs layers by their names in the network, and typed operations by their order. `shared` sets loads,
/// precision, time limit and locked clock. Throws UsageError if the alternatives have nothing in common, or
/// if the device can run no item for all alternatives.
ComparedWork pair_alternatives(const std::vector<ComparedAlternative>& alternatives,
                               const MeasureOptions& shared, const DeviceDescription& device);

/// Returns how many samples a launch of each alternative takes (of a network, a pass), if they differ in
/// these and else do the same with each; empty if not.
std::vector<std::int64_t> samples_that_differ(const std::vector<ComparedAlternative>& alternatives,
                                              const ComparedWork& work);

/// Adds notes if paired operations, or layers of the same name, compute or move unlike amounts.
void note_unlike_work(const std::vector<ComparedAlternative>& alternatives, ComparedWork& work);

// Below: the work as the arms of studies change it, as alternatives of a comparison.

/// An arm and its study.
struct AppliedArm {
  const study::Study* study = nullptr;
  study::Arm arm;
};

/// Applies the arms in order, each to the operations that its study can be asked of after the arms before.
/// Then chooses the library for each changed layer by `provider`.
ComparedAlternative apply_arms(const std::string& label, std::span<const AppliedArm> arms, WorkList work,
                               const MeasureOptions& options, const std::string& provider,
                               const DeviceDescription& device);

/// Returns why the device can run none of the work; empty if it can run some.
std::string problem_of(const WorkList& work, const DeviceDescription& device);

// Below: the comparison carried out, with the alternatives beside each other in fresh processes.

struct Invocation;

/// Lists the alternatives and the duration of the comparison, for --dry-run.
std::string comparison_plan_text(const ComparedWork& work, const ComparisonRecord& record);

/// Compares in `record.processes_asked` processes, with a live line. After the budget only the first process
/// is still started. Fills all of the record but alternatives, device and environment. Returns each process'
/// duration.
std::vector<Nanoseconds> compare_in_processes(const ComparedWork& work, const Invocation& invocation,
                                              ComparisonRecord& record,
                                              std::optional<Nanoseconds> budget = {});
/// The same between ranks, each with one of these devices: collectives need them.
void compare_on_ranks(const ComparedWork& work, const std::vector<std::string>& devices,
                      const Invocation& invocation, ComparisonRecord& record);

}  // namespace jitterscope::cli
