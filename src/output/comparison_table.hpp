// What a comparison found, for people: the verdict first.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "experiment/comparison.hpp"
#include "output/text.hpp"

namespace jitterscope {

/// Layers of a network, or several pairs of operations: then each has a row, else each alternative.
bool has_several_items(const ComparisonRecord& record);

std::string comparison_table(const ComparisonRecord& record, const Page& page);

// What a comparison found, in sentences.

/// A verdict for each alternative and kind of conditions; of networks on their totals, and none where layers
/// are left out.
std::string comparison_headlines(const ComparisonRecord& record, const std::vector<std::string>& names,
                                 std::size_t width);

// In what the records of a comparison differ, beside their times.

/// Cause by cause, and what may explain a time; empty where nothing differs.
std::string record_differences_section(const ComparisonRecord& record, std::size_t width);

}  // namespace jitterscope
