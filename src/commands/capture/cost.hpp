// What a capture costs a program: its runs with and without the recorder, in turn.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "capture/watch.hpp"
#include "jitterscope/units.hpp"
#include "statistics/effect.hpp"

namespace jitterscope::capture {

struct CaptureCost {
  std::vector<Nanoseconds> without, with;       ///< wall times, in the order of the runs
  std::optional<statistics::Effect> recording;  ///< with over without, run by run
  std::optional<statistics::Effect>
      nothing_changed;  ///< each second run without over the one without before it
};

/// Fewer runs have no interval for nothing_changed.
inline constexpr int kFewestRuns = 4;

/// Compares times of as many runs with as without.
CaptureCost compare_runs(std::vector<Nanoseconds> without, std::vector<Nanoseconds> with);

/// "recording makes it +1.2 % (+0.4 to +2.0 %) …": the cost, and what would be found if recording did
/// nothing.
std::string cost_sentence(const CaptureCost& cost);

struct MeasuredCost {
  Watched first;                    ///< the one capture that is kept
  int exit_code = 0;                ///< of the run that failed, where one did
  std::optional<CaptureCost> cost;  ///< empty: a run failed, or used no CUDA
};

/// Runs the program `runs` times with and as often without the recorder, which of them first in turn. Throws
/// as watch() does.
MeasuredCost measure_cost(WatchRequest request, int runs);

}  // namespace jitterscope::capture
