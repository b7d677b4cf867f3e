// How far fresh processes differ.
#pragma once

#include <functional>
#include <vector>

#include "explain/explanation.hpp"

namespace jitterscope::explain {

/// As many processes as a third of the time limit allows for, 3 to 8.
RandomFactor vary_process(const std::function<std::vector<TimeEstimate>(std::int64_t)>& measure_in_processes,
                          Nanoseconds time_limit);

}  // namespace jitterscope::explain
