// Reads the argument of --lock-clocks if it is a number.
#pragma once

#include <string_view>

#include "jitterscope/units.hpp"

namespace jitterscope {

/// Reads a number of MHz. Throws UsageError, which names the words allowed, for any other text.
Hertz requested_megahertz(std::string_view request);

}  // namespace jitterscope
