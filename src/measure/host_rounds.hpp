// The shape of rounds on a device that is the host.
#pragma once

#include "measure/round_runner.hpp"

namespace jitterscope {

/// Warm launches in groups where they are short, cold ones few where evicting takes long, by what both take
/// here. For event rounds of a device that is the host; another shape stays as it is.
void fit_to_host(RoundShape& shape, const TimedWork& work, Nanoseconds launch_time,
                 const MeasureOptions& options, const Calibration& calibration);

}  // namespace jitterscope
