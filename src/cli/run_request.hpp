// What `run` was asked for, before anything is timed.
#pragma once

#include <cstdint>

#include "cli/work_list.hpp"
#include "experiment/plan.hpp"

namespace jitterscope::cli {

struct RunRequest {
  WorkList work;
  MeasureOptions options;
  bool verify = false;
  bool ceilings = true;
  bool in_sequence = false;
  std::int64_t processes = 1;        ///< fresh ones where there is more than one, each with the whole plan
  bool precision_was_asked = false;  ///< by the user: then missing it has an exit code of its own
};

/// A trial for each layer of the work, compared with nothing.
Plan plan_of(const RunRequest& request);

}  // namespace jitterscope::cli
