// What a comparison found, in sentences.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "experiment/comparison.hpp"

namespace jitterscope {

/// A verdict for each alternative and kind of conditions; of networks on their totals, and none where layers
/// are left out.
std::string comparison_headlines(const ComparisonRecord& record, const std::vector<std::string>& names,
                                 std::size_t width);

}  // namespace jitterscope
