// Prints the differences between compared records, beside their times.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "experiment/comparison.hpp"
#include "output/text.hpp"

namespace jitterscope {

/// Lists the differences by cause, and says which may explain a time; empty if nothing differs.
Text record_differences_section(const ComparisonRecord& record, const std::vector<std::string>& names,
                                std::size_t width);

}  // namespace jitterscope
