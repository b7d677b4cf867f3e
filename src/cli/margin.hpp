// Percentages as flags have them: --margin, how far apart counts as the same, and --tolerance.
#pragma once

#include <string>

namespace jitterscope::cli {

/// "1%" or "1" is 0.01. Throws UsageError for what is no percentage between 0 and 100.
double read_percentage(const std::string& flag, std::string text);
inline double read_margin(std::string text) { return read_percentage("--margin", std::move(text)); }

}  // namespace jitterscope::cli
