// What `run` was asked for, before anything is timed.
#pragma once

#include "cli/work_list.hpp"
#include "experiment/plan.hpp"

namespace jitterscope::cli {

struct RunRequest {
  WorkList work;
  MeasureOptions options;
  bool verify = false;
  bool ceilings = true;
  bool in_sequence = false;
  bool precision_was_asked = false;  ///< by the user: then missing it has an exit code of its own
};

/// A trial for each layer of the work, compared with nothing.
Plan plan_of(const RunRequest& request);

}  // namespace jitterscope::cli
