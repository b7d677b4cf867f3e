// What stands before each round of an experiment, so that what the round before has left is gone.
#pragma once

#include "explain/treated_loop.hpp"

namespace jitterscope::explain {

/// A rest, in which the average of the power falls, and some work, so that the clock is awake.
void condition(TreatedLoop& bench);
/// Host time that it takes, roughly.
Nanoseconds conditioning_time(const TreatedLoop& bench);

}  // namespace jitterscope::explain
