// Reads the events of a profiler trace: what ran on the GPU, and which operator launched it.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "import/json.hpp"
#include "import/operator_selection.hpp"
#include "import/trace_event.hpp"
#include "jitterscope/units.hpp"

namespace jitterscope {

struct CalledOperator {
  std::string_view name;
  std::string_view arguments;  ///< JSON of its `args`; empty if the event has none
  std::uint32_t thread = 0;
  RecordTime begin = 0, end = 0;
};

/// A kernel, copy or fill on the GPU.
struct GpuWork {
  std::string_view name;
  Nanoseconds duration;
  RecordTime begin = 0;
  std::int64_t correlation = -1;
  std::int64_t device = -1;
  std::size_t caller = kNoParent;  ///< the innermost operator that launched it
  RecordTime launched = 0;         ///< time of the launch on the CPU
};

/// All events of a trace. They are views into the JSON, which must outlive them.
struct ProfilerEvents {
  std::vector<CalledOperator> operators;  ///< by thread, then by begin; parents come first
  std::vector<std::size_t> parents;       ///< one for each operator; kNoParent if it has none
  std::vector<GpuWork> work;              ///< in the order of launch
  std::string device;
  std::set<std::string_view> steps;  ///< names of steps, as schedule() of torch.profiler marks them
  std::set<std::string> processes;   ///< processes that called operators
  std::set<std::int64_t> devices;    ///< GPUs that did the work
};

/// Throws UsageError if the text is no profiler trace, or if several processes' traces were joined such that
/// the work of one cannot be told from that of another.
ProfilerEvents read_profiler_events(ReadableJson& json, std::string_view file_name);

}  // namespace jitterscope
