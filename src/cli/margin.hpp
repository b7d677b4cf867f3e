// --margin: how far apart counts as the same.
#pragma once

#include <string>

namespace jitterscope::cli {

/// "1%" or "1" is 0.01. Throws UsageError for what is no percentage between 0 and 100.
double read_margin(std::string text);

}  // namespace jitterscope::cli
