// The tables of a comparison.
#pragma once

#include <string>
#include <vector>

#include "experiment/comparison.hpp"
#include "output/page.hpp"

namespace jitterscope {

/// One item: a row for each alternative, by the names given.
std::string alternatives_table(const ComparisonRecord& record, const std::vector<std::string>& names,
                               const Page& page);
/// Comparisons that have a ratio, in the order of layers_table, all of them.
std::vector<const Comparison*> rows_of_layers(const ComparisonRecord& record);
/// Several items: a row for each and each alternative; of a network what changes the total most first.
std::string layers_table(const ComparisonRecord& record, const std::vector<std::string>& names,
                         const Page& page);

}  // namespace jitterscope
