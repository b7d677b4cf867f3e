// Engines that were asked for and did not run: a ratio would be said of engines, and be one of something
// else.
#pragma once

#include <span>
#include <string>

#include "experiment/comparison.hpp"

namespace jitterscope {

/// Why two sides that ask for different engines cannot be compared: one of them ran another engine. Empty
/// where both ran what they asked for, or ask for the same.
std::string ignored_engine(const Result& first, const Result& second);

/// Notes where sides that ask for the same engine did not run it: the first of them, and how many more there
/// are. `alternatives` entries of a process are one operation.
void note_ignored_engines(std::span<const RunRecord> processes, std::size_t alternatives,
                          ComparisonRecord& record);

}  // namespace jitterscope
