// Every launch on a line of its own, for other programs.
#pragma once

#include <string>

#include "measure/run_record.hpp"

namespace jitterscope {

/// RFC 4180 with a header line. `launch` counts launches, so that it advances by the size of a group where
/// launches were timed in groups; `settled` is 0 for rounds of a sustained load before it settled.
std::string run_csv(const RunRecord& record);

}  // namespace jitterscope
