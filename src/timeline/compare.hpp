// Two captures, or two groups of captures, beside each other: the same step, the same kernels.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "statistics/effect.hpp"
#include "timeline/analysis.hpp"
#include "timeline/timeline.hpp"

namespace jitterscope::timeline {

/// A capture with what was found in it.
struct AnalysedCapture {
  Timeline timeline;
  Analysis analysis;
};

/// A kernel or a copy that both sides ran with the same name and shape, or with the same name alone.
struct WorkChange {
  WorkName name;
  bool same_shape = true;
  double first_median = 0.0, second_median = 0.0;  ///< seconds a call
  double first_in_step = 0.0,
         second_in_step = 0.0;  ///< seconds a step; of the whole program where there are no steps
  std::optional<statistics::Effect> effect;  ///< of the call's time
  bool is_shown = false;                     ///< by Holm's test over all, and at least 0.5 %
};

/// Work that one side alone ran, the longest first.
struct OneSided {
  WorkName name;
  std::size_t calls = 0;
  double seconds = 0.0;
};

struct CaptureComparison {
  bool has_steps = false;                      ///< both sides: the step is the unit of what is said of them
  double first_step = 0.0, second_step = 0.0;  ///< seconds
  std::optional<statistics::Effect> step_effect;
  double first_busy = 0.0, second_busy = 0.0;  ///< seconds a step, or in all
  double first_idle = 0.0, second_idle = 0.0;  ///< shares of the time
  std::vector<WorkChange> changes;             ///< those that are shown first, by how much they move a step
  std::vector<OneSided> only_first, only_second;
  std::size_t first_captures = 1, second_captures = 1;
  /// One process a side: what differs from process to process is not in the intervals.
  bool is_of_single_processes() const { return first_captures == 1 || second_captures == 1; }
};

/// Compares the GPU that worked longest of each. With several captures on both sides the capture is the unit,
/// else blocks of steps that follow each other are. Throws UsageError if a side holds no work of a GPU.
CaptureComparison compare_captures(const std::vector<AnalysedCapture>& first,
                                   const std::vector<AnalysedCapture>& second);

}  // namespace jitterscope::timeline
