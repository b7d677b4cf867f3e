// The tables of a comparison, and how they name conditions.
#pragma once

#include <string>
#include <vector>

#include "experiment/comparison.hpp"
#include "output/page.hpp"

namespace jitterscope {

/// "warm burst"
std::string cache_and_load(const Conditions& conditions);
/// Conditions are named where there are several.
bool has_several_conditions(const ComparisonRecord& record);
/// Empty where there is one.
std::string condition_of(const ComparisonRecord& record, const Comparison& comparison);

/// One item: a row for each alternative, by the names given.
std::string alternatives_table(const ComparisonRecord& record, const std::vector<std::string>& names,
                               std::size_t width);
/// A network: a row for each layer, what changes the total most first.
std::string layers_table(const ComparisonRecord& record, const std::vector<std::string>& names,
                         const Page& page);

}  // namespace jitterscope
