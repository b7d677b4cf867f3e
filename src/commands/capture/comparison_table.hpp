// What `capture compare` prints.
#pragma once

#include <string>

#include "output/text.hpp"
#include "timeline/compare.hpp"

namespace jitterscope {

/// The step's time on both sides, what it is made of, kernels that changed, and those that one side alone
/// ran. Markdown.
Text capture_comparison_text(const timeline::CaptureComparison& comparison, const ShownPage& shown);

}  // namespace jitterscope
