// The tables of a study of several operations: what all arms come to together, and the time of each.
#pragma once

#include <string>
#include <vector>

#include "experiment/comparison.hpp"
#include "output/page.hpp"

namespace jitterscope {

/// A network: a row for each arm, all layers together.
std::string totals_table(const ComparisonRecord& record, const std::vector<std::string>& names,
                         std::size_t width);
/// A row for each operation, a column for each arm: the time of the same work.
std::string times_table(const ComparisonRecord& record, const std::vector<std::string>& names,
                        const Page& page);

}  // namespace jitterscope
