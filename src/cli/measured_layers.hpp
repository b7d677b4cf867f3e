// The layers of a work as it is, before any advice: how long each takes, and what hardware counts of it.
#pragma once

#include "cli/process_run.hpp"
#include "cli/work_list.hpp"
#include "study/advice.hpp"

namespace jitterscope::cli {

/// Fills the layers of the record, which says whether it was interrupted. Throws FailedError where nothing
/// was measured.
void measure_layers(const WorkList& work, const MeasureOptions& options, const Invocation& invocation,
                    study::AdviceRecord& record);

/// What hardware counts of the longest: it says why they take so long, and no remedy depends on it. In a
/// process of its own, where the counters' hooks move no time. The record's notes say where there is nothing.
void count_longest_layers(const MeasureOptions& options, const Invocation& invocation,
                          study::AdviceRecord& record);

}  // namespace jitterscope::cli
