// How far fresh processes differ, and the GPUs of one machine.
#pragma once

#include <cstdint>
#include <vector>

#include "explain/explanation.hpp"
#include "measure/run_record.hpp"

namespace jitterscope::explain {

/// What a fresh process read.
struct ProcessTime {
  TimeEstimate time;
  Nanoseconds first_call;  ///< host time of its first launch
};

/// Of what a process measured, each operation's first condition.
std::vector<ProcessTime> times_of(const RunRecord& record);

/// As many as a third of the time limit allows for, 3 to 8; none where three take longer than 40 % of it.
std::int64_t processes_in(Nanoseconds time_limit, Nanoseconds launch_time);
/// The process as a factor that was not tried, as none had time.
RandomFactor process_without_time();
RandomFactor vary_process(const std::vector<ProcessTime>& times);

/// One time of each GPU, from a process of its own there.
RandomFactor vary_gpu(const std::vector<ProcessTime>& times);

}  // namespace jitterscope::explain
