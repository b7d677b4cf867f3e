// Parts of a capture that one asks for: kernels by their names, one step.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "output/text.hpp"
#include "timeline/analysis.hpp"
#include "timeline/timeline.hpp"

namespace jitterscope {

/// All that is known of the kernels whose full names match a regular expression. Throws UsageError if none
/// does, or if it is no regular expression.
Text capture_kernels_text(const timeline::Timeline& timeline, const timeline::Analysis& analysis,
                          const std::string& pattern, const ShownPage& shown);

/// One step: when it was, what ran in it, and where the GPU idled. `number` counts from 1, in the order of
/// time; nullopt: the slowest. Throws UsageError if there is none.
Text capture_step_text(const timeline::Timeline& timeline, const timeline::Analysis& analysis,
                       std::optional<std::size_t> number, const ShownPage& shown);

}  // namespace jitterscope
