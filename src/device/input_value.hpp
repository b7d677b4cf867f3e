// What an operand's elements hold, on every device that draws them on the host.
#pragma once

#include "base/random.hpp"
#include "jitterscope/device.hpp"

namespace jitterscope {

/// One element, not yet rounded to its data type.
double draw_value(DataKind kind, Random& random);

}  // namespace jitterscope
