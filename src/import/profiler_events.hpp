// The events of a profiler trace that say what ran on the GPU, and for which operator.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "import/json.hpp"
#include "import/operator_selection.hpp"
#include "jitterscope/units.hpp"

namespace jitterscope {

/// Since the record's own zero. Whole, as a double does not hold nanoseconds since 1970.
using RecordTime = std::int64_t;

struct CalledOperator {
  std::string_view name;
  std::string_view arguments;  ///< `args`, its JSON; empty where the event has none
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
  std::size_t caller = kNoParent;  ///< the innermost operator that it was launched in
  RecordTime launched = 0;         ///< when, on the CPU
};

/// Views into the JSON, which must outlive it.
struct ProfilerEvents {
  std::vector<CalledOperator> operators;  ///< of each thread in the order of their begin; parents come first
  std::vector<std::size_t> parents;       ///< as many; kNoParent where there is none
  std::vector<GpuWork> work;              ///< in the order of launch
  std::string device;
  std::set<std::string_view> steps;  ///< by their names, as schedule() of torch.profiler marks them
  std::set<std::string> processes;   ///< that called operators
  std::set<std::int64_t> devices;    ///< that did the work
};

/// Throws UsageError where the text is no profiler trace, or it cannot be told which of several processes'
/// operators launched the work.
ProfilerEvents read_profiler_events(ReadableJson& json, std::string_view file_name);

}  // namespace jitterscope
