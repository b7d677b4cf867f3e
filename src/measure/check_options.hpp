// Options that cannot be measured with, said before anything is launched.
#pragma once

#include "jitterscope/measure.hpp"

namespace jitterscope {

/// Throws UsageError naming the field and its rule.
void check_options(const MeasureOptions& options);

}  // namespace jitterscope
