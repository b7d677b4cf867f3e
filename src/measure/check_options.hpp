// Options that cannot be measured with, said before anything is launched.
#pragma once

#include <cstdint>

#include "jitterscope/measure.hpp"

namespace jitterscope {

/// Of one plain loop.
inline constexpr std::int64_t kMostIterations = 1'000'000;

/// Throws UsageError naming the field and its rule.
void check_options(const MeasureOptions& options);

}  // namespace jitterscope
