// The studies, one function for each, and their common helpers.
#pragma once

#include <functional>
#include <string>

#include "jitterscope/operation.hpp"
#include "study/study.hpp"

namespace jitterscope::study::studies {

Study layout();
Study precision();
Study engine();
Study batch();
Study graph();
Study pinned();
Study compiler();
Study occupancy();
Study streams();
Study overlap();
Study dependencies();
Study synchronization();
Study priorities();
Study tiling();
Study waves();
Study access();
Study hierarchy();
Study allocator();
Study fragmentation();
Study fusion();

/// Throws UsageError if the device runs one launch after the other.
void require_streams(const StudyContext& context);

/// True if it can be a step of a chain whose launches return before their work is done.
bool can_be_step(const Operation& operation);

/// Makes an arm that runs the work as the chain that `make` returns.
Arm chain_arm(std::string name, Instrument instrument, std::function<Chain(const Operation&)> make);

/// Returns an arm's comparison in the first conditions; null if it has no time.
const Comparison* comparison_with(const ComparisonRecord& record, const std::string& arm);

/// Returns how much longer the second side takes than the first.
Nanoseconds added_time(const Comparison& comparison);

}  // namespace jitterscope::study::studies
