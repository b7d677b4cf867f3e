// How far fresh processes differ, and the GPUs of one machine.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "explain/explanation.hpp"
#include "jitterscope/device.hpp"
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

// Who else uses the device while a study runs: nothing here can switch that, so it is named.

class ProcessWatch {
 public:
  explicit ProcessWatch(Device& device) : device_(device) {}

  /// Asks the device, but once a second at most: it takes longer than a round.
  void look();
  const OtherProcesses& found() const { return found_; }

 private:
  Device& device_;
  std::optional<Nanoseconds> last_look_;
  OtherProcesses found_;
};

/// A sentence about them; empty where there was none.
std::string sentence_of(const OtherProcesses& others, const Observation& observation);

}  // namespace jitterscope::explain
