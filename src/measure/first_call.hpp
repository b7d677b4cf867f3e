// What is learned from the first launches of a workload, before any round.
#pragma once

#include "measure/round_timer.hpp"

namespace jitterscope {

struct FirstCall {
  Nanoseconds time;         ///< host time of the first launch, to its end
  Nanoseconds launch_time;  ///< GPU time of a later launch, roughly: rounds are shaped by it
  Nanoseconds launch_cost;  ///< host time of one launch call into a queue that is held, median
  /// A launch does not return before its queue has got ahead, so that no gate can hold it: launch_cost is
  /// that of calls into an open queue, and holds the wait.
  bool waits_for_queue = false;
};

/// A launch that only a closed gate keeps from returning is found out here, after half a second.
FirstCall make_first_call(Device& device, Queue& queue, Workload& workload, Nanoseconds events_constant);

}  // namespace jitterscope
