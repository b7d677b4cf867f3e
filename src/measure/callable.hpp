// Work of a program's own: timed like every operation, or by what is possible where it does what a timed
// launch should not.
#pragma once

#include <string>
#include <vector>

#include "measure/callable_workload.hpp"

namespace jitterscope {

struct CallableOutcome {
  Result result;
  std::vector<std::string> notes;  ///< sentences: what it does that changed how it was timed
};

/// Beside each other, their rounds paired where there are several. Throws what they throw, and UsageError
/// where the device is simulated. What cannot be recorded, though QueueMode::graph asks for that, is
/// launched; what leaves work on other streams is timed with a wait for the whole device.
std::vector<CallableOutcome> measure_callables(Session& session, const std::vector<CallableWork>& callables,
                                               const MeasureOptions& options);

}  // namespace jitterscope
