// What a time means as a rate, beside the best that this device has shown.
#pragma once

#include <optional>
#include <string>

#include "measure/run_record.hpp"

namespace jitterscope {

struct AchievedRate {
  std::string rate;  ///< "795 TFLOP/s" or "4.31 TB/s": what limits the operation
  std::string
      share;  ///< "79 %" of the measured ceiling, "in cache" above memory's; empty where none was measured
};

/// FLOP/s where arithmetic is nearer to its ceiling than memory traffic is, else bytes/s. Nothing for an
/// operation without either, such as a callable.
std::optional<AchievedRate> achieved_rate(const Result& result, Nanoseconds time, const Ceilings& ceilings);

}  // namespace jitterscope
