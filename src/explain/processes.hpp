// Estimates how far fresh processes, and the GPUs of one machine, differ.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "explain/explanation.hpp"
#include "jitterscope/device.hpp"
#include "measure/run_record.hpp"

namespace jitterscope::explain {

/// The times that one fresh process measured.
struct ProcessTime {
  TimeEstimate time;
  Nanoseconds first_call;  ///< host time of its first launch
};

/// Returns each operation's first condition in a process's record.
std::vector<ProcessTime> times_of(const RunRecord& record);

/// True if so many fresh processes, one after the other, take at most a fifth of the time limit.
bool has_time_for_processes(std::int64_t processes, Nanoseconds time_limit, Nanoseconds launch_time);
/// Returns as many as fit into a third of the time limit, 3 to 8; 0 if there is no time for three.
std::int64_t processes_in(Nanoseconds time_limit, Nanoseconds launch_time);
/// Returns the process, and the GPU, as a factor that was not tried for want of time.
RandomFactor process_without_time();
RandomFactor gpu_without_time();
RandomFactor vary_process(const std::vector<ProcessTime>& times);

/// Takes one time per GPU, each from its own process.
RandomFactor vary_gpu(const std::vector<ProcessTime>& times);

// Watches which other programs use the device during a study: they cannot be switched, so they are named.

class ProcessWatch {
 public:
  explicit ProcessWatch(Device& device) : device_(device) {}

  /// Asks the device at most once a second, because asking takes longer than a round.
  void look();
  const OtherProcesses& found() const { return found_; }

 private:
  Device& device_;
  std::optional<Nanoseconds> last_look_;
  OtherProcesses found_;
};

/// Returns a sentence about the other programs; empty if there were none.
std::string sentence_of(const OtherProcesses& others, const Observation& observation);

}  // namespace jitterscope::explain
