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

/// One time on both sides: what is shown of each is what the effect lies between.
struct TimeChange {
  double first = 0.0, second = 0.0;  ///< seconds
  std::optional<statistics::Effect> effect;
};

/// A kernel or a copy that both sides ran with the same name and shape, or with the same name alone.
struct WorkChange {
  WorkName name;
  bool same_shape = true;
  double first_calls = 0.0, second_calls = 0.0;  ///< a step, or in all where there are no steps
  TimeChange time;                               ///< a step; of a call where there are no steps
  bool is_shown = false;                         ///< by Holm's test over all, and at least 0.5 %
};

/// Work that one side alone ran, the longest first.
struct OneSided {
  WorkName name;
  std::size_t calls = 0;
  double seconds = 0.0;
  double share = 0.0;  ///< of all that side's work
};

/// Which steps of a capture are compared, where not all of its steps are.
struct ComparedSteps {
  std::string source;
  std::optional<double> within;      ///< so many are one of the steps that `capture show` finds
  std::optional<StepLevels> levels;  ///< the steps of the later level are compared
};

struct CaptureComparison {
  bool has_steps = false;                        ///< both sides: the step is the unit of what is said of them
  double alike = 1.0;                            ///< share of a step's work that both have
  TimeChange step, busy;                         ///< of a step
  double first_total = 0.0, second_total = 0.0;  ///< seconds in which the GPU works in all
  double first_beside = 0.0, second_beside = 0.0;  ///< seconds of work between these steps, for each of them
  double first_idle = 0.0, second_idle = 0.0;      ///< shares of the time of what is compared
  std::vector<WorkChange> changes;  ///< those that are shown first, by how much they move a step
  std::vector<OneSided> only_first, only_second;  ///< whether it lies in steps or not
  std::vector<ComparedSteps> parts;
  std::size_t first_captures = 1, second_captures = 1;
  /// One process a side: what differs from process to process is not in the intervals.
  bool is_of_single_processes() const { return first_captures == 1 || second_captures == 1; }
};

/// Compares the GPU that worked longest of each. With several captures on both sides the capture is the unit,
/// else blocks of steps that follow each other are. Where a level of the steps' times has changed for good,
/// its later steps are compared; where one side's step is a repetition of the other's, the shorter. Throws
/// UsageError if a side holds no work of a GPU.
CaptureComparison compare_captures(const std::vector<AnalysedCapture>& first,
                                   const std::vector<AnalysedCapture>& second);

}  // namespace jitterscope::timeline
