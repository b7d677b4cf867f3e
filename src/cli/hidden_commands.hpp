// What jitterscope starts itself for: work that must not happen in the measuring process.
#pragma once

#include <optional>
#include <string>

#include "measure/methods.hpp"

namespace jitterscope::cli {

/// Runs the process as a helper of another jitterscope, where its arguments say so: restoring clocks, or
/// timing one operation by CUPTI.
std::optional<int> run_hidden_command(int argc, char** argv);

/// Times of the operation by CUPTI, read by a second process, or by a simulated GPU's tracer; on other
/// devices only the reason why not.
TracedTimes traced_times(const std::string& device_id, const Operation& operation,
                         const MethodsRequest& request, const std::string& executable);

}  // namespace jitterscope::cli
