// What a comparison found, for people: the verdict first.
#pragma once

#include <string>

#include "experiment/comparison.hpp"
#include "output/page.hpp"

namespace jitterscope {

/// Layers of a network, or several pairs of operations: then each has a row, else each alternative.
bool has_several_items(const ComparisonRecord& record);

std::string comparison_table(const ComparisonRecord& record, const Page& page);

}  // namespace jitterscope
