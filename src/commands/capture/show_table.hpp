// The first screen of `capture show`, and what its flags ask for.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "timeline/analysis.hpp"
#include "timeline/timeline.hpp"

namespace jitterscope {

struct CaptureShown {
  std::size_t width = 80;
  std::size_t top = 8;   ///< kernels in the table
  bool details = false;  ///< every kernel, every GPU, every loss
};

/// What was captured, whether it is complete, what the recording cost, findings, the GPU's idle time and a
/// table of kernels. Markdown.
std::string capture_text(const timeline::Timeline& timeline, const timeline::Analysis& analysis,
                         const CaptureShown& shown);

/// All that is known of the kernels whose full names match a regular expression. Throws UsageError if none
/// does, or if it is no regular expression.
std::string capture_kernels_text(const timeline::Timeline& timeline, const timeline::Analysis& analysis,
                                 const std::string& pattern, const CaptureShown& shown);

/// One step: when it was, what ran in it, and where the GPU idled. `number` counts from 1, in the order of
/// time; nullopt: the slowest. Throws UsageError if there is none.
std::string capture_step_text(const timeline::Timeline& timeline, const timeline::Analysis& analysis,
                              std::optional<std::size_t> number, const CaptureShown& shown);

/// A kernel's name and how many blocks it has, as tables show it: "vectorized_add [1024]".
std::string kernel_label(const timeline::WorkName& name);

/// "follows" in a few words: "clock 88 % (+14 %)".
std::string follows_text(const timeline::FollowedCause& cause);

}  // namespace jitterscope
