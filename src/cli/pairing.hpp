// What alternatives have in common, item by item: the plan of a comparison.
#pragma once

#include <string>
#include <vector>

#include "cli/work_list.hpp"
#include "experiment/comparison.hpp"
#include "experiment/plan.hpp"

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

}  // namespace jitterscope::cli
