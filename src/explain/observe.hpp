// Plain loops, as a first benchmark runs them, and how their times vary.
#pragma once

#include "base/random.hpp"
#include "explain/experiments.hpp"
#include "explain/explanation.hpp"
#include "explain/treated_loop.hpp"

namespace jitterscope::explain {

/// At least 4 loops, 2 where those have taken twice the time, and more until the time is over: each behind an
/// idle drawn from 1 to 300 ms, with operands in other memory where the device can move them.
Observation observe(TreatedLoop& bench, Nanoseconds time_limit, Random& random,
                    const ExperimentListeners& listeners);

}  // namespace jitterscope::explain
