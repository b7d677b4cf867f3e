// Observes plain loops, as a first benchmark runs them, and how their times vary.
#pragma once

#include "base/random.hpp"
#include "explain/experiments.hpp"
#include "explain/explanation.hpp"
#include "explain/treated_loop.hpp"

namespace jitterscope::explain {

/// Runs loops until the time is over, at least 4, or 2 if those took twice the time. Each comes after a
/// random idle of 1 to 300 ms, with operands in other memory if the device can move them.
Observation observe(TreatedLoop& bench, Nanoseconds time_limit, Random& random,
                    const ExperimentListeners& listeners);

}  // namespace jitterscope::explain
