// What a user asks for by --lock-clocks, where it is no word but a number.
#pragma once

#include <string_view>

#include "jitterscope/units.hpp"

namespace jitterscope {

/// A number of MHz. Throws UsageError for anything else, naming the words that there are.
Hertz requested_megahertz(std::string_view request);

}  // namespace jitterscope
