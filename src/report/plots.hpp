// What can be drawn of each record, the main plot first.
#pragma once

#include <span>
#include <vector>

#include "record/record.hpp"
#include "report/plot.hpp"

namespace jitterscope {

/// Empty where a record is words alone, as of a doctor that measured nothing.
std::vector<Plot> plots_of(const AnyRecord& record);

/// The first: throws UsageError where there is none.
const Plot& main_plot(std::span<const Plot> plots);

}  // namespace jitterscope
