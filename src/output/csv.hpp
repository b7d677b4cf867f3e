// Every launch on a line of its own, for other programs.
#pragma once

#include <string>
#include <string_view>

#include "measure/run_record.hpp"

namespace jitterscope {

/// RFC 4180 with a header line. `launch` counts launches, so that it advances by the size of a group where
/// launches were timed in groups; `settled` is 0 for rounds of a sustained load before it settled.
std::string launches_csv(const RunRecord& record);

/// One field; quoted where it holds a comma, a quote or a line break.
std::string csv_quoted(std::string_view field);
/// The shortest digits that read back as the same number; empty where it is not finite.
std::string csv_number(double value);

}  // namespace jitterscope
