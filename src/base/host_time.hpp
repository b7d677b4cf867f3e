// The host's monotonic clock.
#pragma once

#include "jitterscope/units.hpp"

namespace jitterscope {

/// Since some moment: only differences mean something.
Nanoseconds host_time_now();

}  // namespace jitterscope
