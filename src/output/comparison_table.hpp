// Prints the result of a comparison, with the verdict first.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "experiment/comparison.hpp"
#include "output/text.hpp"

namespace jitterscope {

/// True for layers of a network or several pairs of operations: items have rows. Otherwise alternatives do.
bool has_several_items(const ComparisonRecord& record);

Text comparison_table(const ComparisonRecord& record, const Page& page);

// Below: the result in sentences.

/// Returns a verdict for each alternative and set of conditions. For networks the verdict is on their totals;
/// there is none if layers are left out.
Text comparison_headlines(const ComparisonRecord& record, const std::vector<std::string>& names,
                          std::size_t width);

}  // namespace jitterscope
