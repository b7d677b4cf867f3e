// What --details shows of a comparison beside its times.
#pragma once

#include <string>
#include <vector>

#include "experiment/comparison.hpp"
#include "output/page.hpp"

namespace jitterscope {

/// Clocks of both sides, the change in cycles, and how far one process and several agree: of totals, then of
/// each comparison, in as many tables as fit the page. Empty where none of these is known.
std::string comparison_details(const ComparisonRecord& record, const std::vector<std::string>& names,
                               bool are_layers, const Page& page);

}  // namespace jitterscope
