// What `capture compare` prints.
#pragma once

#include <string>

#include "commands/capture/show_table.hpp"
#include "timeline/compare.hpp"

namespace jitterscope {

/// The step's time on both sides, what it is made of, kernels that changed, and those that one side alone
/// ran. Markdown.
std::string capture_comparison_text(const timeline::CaptureComparison& comparison, const CaptureShown& shown);

}  // namespace jitterscope
