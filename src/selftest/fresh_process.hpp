// One measurement by a process of its own: this very program, started anew.
#pragma once

#include <functional>
#include <string>

#include "selftest/proof_context.hpp"

namespace jitterscope::selftest {

/// Runs `EXECUTABLE run OPERATION --device DEVICE` in a burst with a warm cache, and reads the estimate from
/// the JSON that it writes.
MeasureInFreshProcess fresh_process(std::string executable, std::string device,
                                    std::function<bool()> interrupted);

}  // namespace jitterscope::selftest
