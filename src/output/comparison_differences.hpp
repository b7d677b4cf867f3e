// In what the records of a comparison differ, beside their times.
#pragma once

#include <cstddef>
#include <string>

#include "experiment/comparison.hpp"

namespace jitterscope {

/// Cause by cause, and what may explain a time; empty where nothing differs.
std::string record_differences_section(const ComparisonRecord& record, std::size_t width);

}  // namespace jitterscope
