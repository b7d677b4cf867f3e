// What the Range Profiler without a GPU lets a test do.
#pragma once

#include <cupti_result.h>

#include <cstddef>

namespace jitterscope::stand_in {

/// How it answers, and what it saw. It is strict where the library would hang or give nonsense: a call out of
/// its order, or with a wrong size or mode, answers CUPTI_ERROR_INVALID_OPERATION.
struct CounterScript {
  std::size_t passes = 3;               ///< that a set of counters takes
  const char* failing = "";             ///< a function
  CUptiResult failure = CUPTI_SUCCESS;  ///< that it answers
  std::size_t failing_call = 1;         ///< which of its calls
  bool is_supported = true;             ///< cuptiProfilerDeviceSupported
  bool never_ends = false;              ///< another pass and another
  bool loses_the_range = false;
  // Seen:
  bool initialized = false, enabled = false, started = false, in_range = false;
  std::size_t hosts = 0;  ///< that live
  std::size_t enabled_times = 0, passes_done = 0;
  std::size_t launches_in_range = 0, launches_elsewhere = 0, most_in_one_pass = 0;
};

/// Its functions for tests, to be looked up by these names: its script, and a launch of the GPU's.
inline constexpr char kCounterScriptName[] = "stand_in_counter_script", kLaunchName[] = "stand_in_launch";
using GetCounterScript = CounterScript* (*)();
using Launch = void (*)();

/// Counters of the chip that it has: the value of the first is the number of launches in the last pass's
/// range, that of the ratio is not a number.
inline constexpr char kChip[] = "GH100";
inline constexpr char kReadBytes[] = "dram__bytes_read", kHitRate[] = "lts__t_sector_hit_rate",
                      kStall[] = "smsp__warp_issue_stalled_long_scoreboard_per_warp_active",
                      kSelected[] = "smsp__warp_issue_stalled_selected_per_warp_active",
                      kDotted[] = "SM_C.TriageCompute.sm__cycles_active", kThroughput[] = "dram__throughput",
                      kOfTheDevice[] = "pcie__read_bytes";

}  // namespace jitterscope::stand_in
