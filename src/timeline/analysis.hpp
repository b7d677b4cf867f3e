// All that is said of what a program did: the numbers behind `capture show`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "operation/model.hpp"
#include "timeline/collectives.hpp"
#include "timeline/idle.hpp"
#include "timeline/slow_steps.hpp"
#include "timeline/steps.hpp"
#include "timeline/timeline.hpp"
#include "timeline/variation.hpp"

namespace jitterscope::timeline {

/// Copies between two kinds of memory, or memsets of one, together.
struct CopySummary {
  std::uint32_t what = 0;  ///< index of Process::names
  std::size_t count = 0;
  double bytes = 0.0, seconds = 0.0;
  double beside_kernels = 0.0;  ///< share of their time
};

/// The cost of recording, from launches a second in windows with it and without, in turn within one process.
/// It cannot see what stays after the recording is turned off.
struct RecordingCost {
  double ratio = 0.0;  ///< how much longer the program's time was: 0.003 is 0.3 %
  statistics::Interval interval;
  std::size_t windows = 0;  ///< without recording
  /// The same between windows that were all recorded: what such a comparison says of no difference.
  std::optional<double> null_ratio;
};

/// One GPU of one process.
struct DeviceAnalysis {
  std::size_t process = 0, device = 0;  ///< indices of Timeline::processes and Process::devices
  double seconds = 0.0;                 ///< from its first work to its last
  std::size_t kernels = 0, copies = 0, sets = 0;
  std::size_t names = 0, audited = 0, corrected = 0;  ///< of kernels and their shapes
  Idle idle;
  Steps steps;
  Variation variation;
  SlowSteps slow;
  std::vector<CopySummary> copy_summary;
  std::optional<RecordingCost> cost;
  std::optional<CollectiveWaits> waits;  ///< for other GPUs
};

struct Analysis {
  std::vector<DeviceAnalysis> devices;  ///< the one that worked longest first
};

struct AnalysisChoice {
  std::optional<std::uint32_t> rank;
  std::string range;  ///< of NVTX, that begins a step; empty: steps are looked for
};

/// Throws UsageError if no process has that rank, or none has that range.
Analysis analyse(const Timeline& timeline, const AnalysisChoice& choice);

/// A kernel's name for people: demangled, without its namespaces, arguments and template parameters; of
/// CUTLASS's, which are all named `Kernel`, that of the first parameter.
std::string short_name(const WorkName& name);
/// Demangled as a whole; "copy from pinned memory to the GPU".
std::string full_name(const WorkName& name);

/// How the GPU that worked longest was used; nullopt if none did.
std::optional<RecordedUse> recorded_use(const Timeline& timeline);

/// True for kernels that convert between NCHW and NHWC, as cuDNN adds them.
bool converts_layout(const WorkName& name);

std::optional<RecordingCost> recording_cost(const Process& process, Span within);

}  // namespace jitterscope::timeline
