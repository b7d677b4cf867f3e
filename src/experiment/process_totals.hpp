// Networks compared in several processes: all their layers together.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "experiment/comparison.hpp"

namespace jitterscope {

/// What the comparisons of a record come from, in their order.
struct ProcessEffects {
  std::vector<std::size_t> items;                          ///< indices of ComparisonItems::items
  std::vector<std::optional<statistics::Effect>> effects;  ///< nothing where a comparison failed
};

/// Adds a total for each alternative and for each load and cache state of its comparisons: the sum of the
/// layers that could be compared, over the processes that timed all of these on both sides.
void add_totals(const ComparisonItems& items, std::span<const RunRecord> processes,
                const ProcessEffects& compared, ComparisonRecord& record);

}  // namespace jitterscope
