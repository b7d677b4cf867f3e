// The host's monotonic clock.
#pragma once

#include "jitterscope/units.hpp"

namespace jitterscope {

/// Since some moment: only differences mean something.
Nanoseconds host_time_now();

/// Keeps this thread's core busy for so long: a sleep of some microseconds would last 60 or more, and leave a
/// slower core behind.
void stay_awake(Nanoseconds);

}  // namespace jitterscope
