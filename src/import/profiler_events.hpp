// The events of a profiler trace that say what ran on the GPU, and for which operator.
#pragma once

#include <simdjson.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

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
  std::size_t caller = kNoParent;  ///< the innermost operator that it was launched in
  RecordTime launched = 0;         ///< when, on the CPU
};

/// Views into the text, and into the memory of the parser that must outlive it.
struct ProfilerEvents {
  std::vector<CalledOperator> operators;  ///< of each thread in the order of their begin; parents come first
  std::vector<std::size_t> parents;       ///< as many; kNoParent where there is none
  std::vector<GpuWork> work;              ///< in the order of launch
  std::string device;
  std::int64_t steps = 0;  ///< as schedule() of torch.profiler marks them
};

/// Throws UsageError where the text is no profiler trace.
ProfilerEvents read_profiler_events(simdjson::ondemand::parser& parser, const simdjson::padded_string& text,
                                    std::string_view file_name);

}  // namespace jitterscope
