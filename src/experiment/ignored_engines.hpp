// Engines that were to be compared and did not run: without a word, "the same time" would be of one engine
// twice.
#pragma once

#include <span>

#include "experiment/comparison.hpp"

namespace jitterscope {

/// A note where an engine was asked for and another one ran: the first of them, and how many more there are.
void note_ignored_engines(std::span<const RunRecord> processes, ComparisonRecord& record);

}  // namespace jitterscope
