// Steps that took longer than the others, and what they had that the others had not.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "timeline/idle.hpp"
#include "timeline/series.hpp"
#include "timeline/steps.hpp"
#include "timeline/timeline.hpp"

namespace jitterscope::timeline {

enum class StepTrait : std::uint8_t {
  longer_work,  ///< at least half of what it takes longer is time in which the GPU works
  idle,  ///< at least half of what it takes longer is time in which the GPU idles; the cause was not recorded
  idle_allocation,  ///< the same, while memory was taken or given back
  idle_loading,     ///< the same, while modules were loaded
  idle_synchronization,
  idle_between_kernels,
  idle_launch,
  idle_other_stream,
  idle_host_elsewhere,  ///< the same, and the program made no call to CUDA
  loading,              ///< a module or a kernel was loaded in it
  more_copied,          ///< more bytes were copied or set in it than in nine of ten steps
  first_steps,          ///< they are among the first kFirstSteps
  after_other_kind,     ///< the step before it was of another kind
};
inline constexpr std::size_t kFirstSteps = 7;
std::string_view to_string(StepTrait trait);
/// For an idle trait: during what, empty if that is not known; for the others, what the steps have.
std::string_view phrase_of(StepTrait trait);
inline bool is_idle(StepTrait trait) {
  return trait >= StepTrait::idle && trait <= StepTrait::idle_host_elsewhere;
}

struct TraitOfSlowSteps {
  StepTrait trait = StepTrait::idle;
  std::size_t slow = 0, other = 0;  ///< steps that have it
  double p_value = 1.0;             ///< Fisher's exact test, one-sided
  double seconds = 0.0;             ///< for the idle ones: median idle time beyond the usual
};

/// Stretches in which the steps, one after the other, took longer than most of the others.
struct LongStretches {
  std::vector<Span> spans;         ///< in the order of time
  std::vector<std::size_t> steps;  ///< indices of Steps::steps
  double longer = 0.0;             ///< their median time over the others', less 1
  double busy = 0.0, idle = 0.0;   ///< seconds of a step, in the median, beyond the others'
};

/// A change of the steps' times that stays: what is said of steps that follow it is told from its later
/// level.
struct StepLevels {
  std::size_t step = 0;                ///< index of Steps::steps: the first of the later level
  std::size_t earlier = 0, later = 0;  ///< steps of each level
  MedianOfSeries before, after;        ///< seconds
  double busy = 0.0, idle = 0.0;       ///< seconds of a step, in the median, beyond the earlier ones
};

/// A part of a step that takes longer in the slow ones than in the others.
struct LongerPart {
  std::uint32_t what = 0;  ///< index of Process::names
  bool is_gap = false;     ///< the idle time before this work, not its own
  double seconds = 0.0;    ///< the median of the slow steps less that of the others
};

struct SlowSteps {
  std::optional<StepLevels> levels;
  LongStretches stretches;
  std::vector<std::size_t> steps;  ///< outside of these; indices of Steps::steps, in the order of time
  std::size_t of = 0;              ///< steps that were looked at
  double longer = 0.0;             ///< their median time over the others', less 1
  double seconds = 0.0, other_seconds = 0.0;                 ///< medians, of the detail that most steps have
  std::optional<statistics::RecurrenceEstimate> recurrence;  ///< where they come back after so many steps
  std::vector<LongerPart> parts;  ///< each at least a fifth of what they take longer; two at most
  std::vector<TraitOfSlowSteps>
      traits;  ///< shown by Holm's test and had by at least half of the slow ones, the most frequent first
};

/// Stretches lie between change points of the steps' times, are at least 1 % longer, and stand apart: by
/// three robust deviations of the other steps, which are most of them. Any other step is slow if it takes
/// longer than the median by more than normal noise gives (at least three robust deviations), and at least 1
/// % longer. Where more than 5 % are, their times have two levels, with next to nothing between, and the
/// steps of the longer one are slow; or the steps drift, and the limit is doubled until at most 5 % are.
SlowSteps slow_steps_of(const Process& process, const DeviceWork& work, const Steps& steps);

}  // namespace jitterscope::timeline
