// What a run will do, and for how long: --dry-run, and what a person is told before a long run.
#pragma once

#include <string>

#include "cli/run_request.hpp"
#include "output/page.hpp"

namespace jitterscope::cli {

struct TimeRange {
  Nanoseconds least, most;
};
/// From the idles, the least number of rounds and the time limits, of all that is asked for. Launches are
/// taken to be short against the idles, which on a CPU they may not be: then the limits decide. The launches
/// of loops have no limit; they are taken to last kLoopLaunch at most.
TimeRange expected_time(const RunRequest& request);
inline constexpr Nanoseconds kLoopLaunch = milliseconds(1);

/// Operations, conditions, time: nothing is measured to write it.
std::string plan_text(const RunRequest& request, const DeviceDescription& device,
                      std::size_t width = kPageWidth);

}  // namespace jitterscope::cli
