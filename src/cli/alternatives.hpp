// What `compare` was asked to compare: alternatives, and what they have in common item by item.
#pragma once

#include <string>
#include <vector>

#include "cli/measure_flags.hpp"
#include "cli/provider_choice.hpp"
#include "cli/work_list.hpp"
#include "experiment/comparison.hpp"
#include "experiment/plan.hpp"

namespace jitterscope::cli {

/// One of the things that are compared, as it was typed.
struct Alternative {
  std::string label;        ///< what sets it apart: "engine=best", or the target itself
  std::string target;       ///< an operation or a model
  MeasureFlags conditions;  ///< its own
  std::string provider = "auto";
};

/// Each target is an alternative, or with `vary` (NAME=VALUE,VALUE…) one target is varied in all
/// combinations, the first of each value first. Parameters of the operation or model, and cache, data, queue,
/// instrument and provider can be varied. Throws UsageError: what cannot be varied, with the nearest name;
/// fewer than two alternatives.
std::vector<Alternative> read_alternatives(const std::vector<std::string>& targets,
                                           const std::vector<std::string>& vary,
                                           const MeasureFlags& conditions, const std::string& provider);

struct ComparedWork {
  ComparisonItems items;
  Plan plan;                       ///< a group for each item, with a trial for each alternative
  std::vector<std::string> notes;  ///< sentences about what is compared
};

/// Pairs layers by their names in the network, operations in the order typed. Throws UsageError where
/// alternatives have nothing in common, or an operation cannot run on the device.
ComparedWork pair_alternatives(const std::vector<Alternative>& alternatives, const std::string& only,
                               const MeasureOptions& shared, const DeviceDescription& device);

}  // namespace jitterscope::cli
