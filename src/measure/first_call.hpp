// What is learned from the first launches of a workload, before any round.
#pragma once

#include "measure/round_timer.hpp"

namespace jitterscope {

struct FirstCall {
  Nanoseconds time;         ///< host time of the first launch, to its end
  Nanoseconds launch_time;  ///< GPU time of a later launch, roughly: rounds are shaped by it
  Nanoseconds launch_cost;  ///< host time of one launch call into a queue that is held, median
};

FirstCall make_first_call(Device& device, Queue& queue, Workload& workload, Nanoseconds events_constant);

}  // namespace jitterscope
