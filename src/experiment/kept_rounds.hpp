// The rounds behind the times of a comparison, as many as its record keeps: they show how each side is
// distributed.
#pragma once

#include <span>
#include <vector>

#include "experiment/comparison.hpp"

namespace jitterscope {

/// The times of what an estimate stands on: all rounds, or those of a sustained load that had settled.
std::vector<Nanoseconds> settled_times(const Measurement& measurement);

/// All readings in these rounds that are above zero, or 400 of them as keep_some_rounds() takes them.
std::vector<Nanoseconds> settled_launches(const Measurement& measurement);

/// At most 4,000 rounds in a record and 400 of a side, 50 kB, and as many launches: of more, every so many-th
/// by size, which keeps the shape. None of a network's layers, and none where so many things are compared
/// that each would have a handful.
void keep_some_rounds(std::span<Comparison> comparisons);

}  // namespace jitterscope
