// What the studies share that put several launches on the device as one.
#pragma once

#include <functional>
#include <string>

#include "study/study.hpp"

namespace jitterscope::study::studies {

/// Throws UsageError where the device runs one launch after the other.
void require_streams(const StudyContext& context);

/// Whether it can be a step of a chain whose launches return before their work is done.
bool can_be_step(const Operation& operation);

/// The work as a chain that is made of it.
Arm chain_arm(std::string name, Instrument instrument, std::function<Chain(const Operation&)> make);

/// Of the first conditions, that of an arm; null where it has no time.
const Comparison* comparison_with(const ComparisonRecord& record, const std::string& arm);

/// What the second side takes longer than the first one.
Nanoseconds added_time(const Comparison& comparison);

}  // namespace jitterscope::study::studies
