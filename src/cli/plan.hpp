// What a run will do, and for how long: --dry-run, and what a person is told before a long run.
#pragma once

#include <string>

#include "cli/work_list.hpp"
#include "jitterscope/measure.hpp"

namespace jitterscope::cli {

struct TimeRange {
  Nanoseconds least, most;
};
/// From the idles, the least number of rounds and the time limits. Launches are taken to be short against
/// the idles, which on a CPU they may not be: then the limits decide.
TimeRange expected_time(const WorkList& work, const MeasureOptions& options);

/// Operations, conditions, time: nothing is measured to write it.
std::string plan_text(const WorkList& work, const MeasureOptions& options, const DeviceDescription& device);

}  // namespace jitterscope::cli
