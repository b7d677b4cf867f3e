// Measures under the two loads: bursts of rounds with idles between them, and sustained work without pause.
#pragma once

#include <string>
#include <vector>

#include "measure/decisions.hpp"
#include "measure/round_runner.hpp"

namespace jitterscope {

/// A measurement that is still open.
struct OpenMeasurement {
  RoundRunner runner;
  std::string name;  ///< name of what it times, for progress
  Measurement measurement;
  std::int64_t lost_in_a_row = 0;  ///< rounds lost since the last good one
};

/// Thrown if rounds of a workload are lost again and again: no held queue can take its launches.
struct CannotBeHeldError : HoldTimeoutError {
  CannotBeHeldError(const std::string& message, const Workload* which)
      : HoldTimeoutError(message), workload(which) {}
  const Workload* workload;
};

/// Measurements that are visited behind the same idles: the cache states of one operation or, paired, of
/// several operations that are compared.
struct MeasuredGroup {
  std::vector<OpenMeasurement>
      measurements;  ///< if paired, grouped by operation, the first operation's first, each with as many
  /// If above 1, each block holds rounds of all, and the group is measured until the ratios to the first
  /// operation are precise; else each measurement until its own time is.
  std::size_t paired_operations = 1;
};

/// Visits all groups in turn, in a new random order after each random idle, until each is precise or out of
/// time (a pair has the time limit once for each operation). Groups share an idle while their rounds together
/// last no longer than the mean idle: otherwise 117 operations of ResNet-50 idle for 68 of 106 s on an H200.
/// Rounds of a group do as well, but on a host: what alternatives with a long load do to the clock would be
/// in the others' times. `wake` is the time for which a sleeping clock is woken before each block; it grows
/// if a clock is found asleep.
void measure_burst(Device& device, Decisions& decisions, std::vector<MeasuredGroup>& groups,
                   const MeasureOptions& options, Nanoseconds& wake);

/// Works without pause until time and clock have settled, and then until the settled part is precise.
void measure_sustained(Device& device, Queue& queue, Decisions& decisions, OpenMeasurement& one,
                       const MeasureOptions& options);

}  // namespace jitterscope
