// The two loads: short rounds with idle between, and work without pause.
#pragma once

#include <string>
#include <vector>

#include "measure/decisions.hpp"
#include "measure/round_runner.hpp"

namespace jitterscope {

/// One measurement in the making.
struct OpenMeasurement {
  RoundRunner runner;
  std::string name;  ///< of what it times, for progress
  Measurement measurement;
  std::int64_t lost_in_a_row = 0;  ///< rounds, since the last one that was not
};

/// Rounds of a workload are lost one after the other: no closed queue can hold its launches after all.
struct CannotBeHeldError : GateTimeoutError {
  CannotBeHeldError(const std::string& message, const Workload* which)
      : GateTimeoutError(message), workload(which) {}
  const Workload* workload;
};

/// What is visited behind the same idles: the cache states of one operation, or, paired, those of several
/// operations that are compared.
struct MeasuredGroup {
  std::vector<OpenMeasurement>
      measurements;  ///< of a pair those of the first operation first, each with as many
  /// Then each block holds rounds of all, and the group is measured until the ratios to the first operation
  /// are precise; else each one until its own time is.
  std::size_t paired_operations = 1;
};

/// Rounds of all groups in turn, in a new random order after each random idle, until every one is precise or
/// has had its time limit (that of a pair for each operation). Groups share an idle while their rounds
/// together last no longer than an idle does on average: else 117 operations of ResNet-50 idle for 68 of 106
/// s on an H200.
/// `wake` is for how long a sleeping clock is woken before each block; it grows where a clock is found
/// asleep.
void measure_burst(Device& device, Decisions& decisions, std::vector<MeasuredGroup>& groups,
                   const MeasureOptions& options, Nanoseconds& wake);

/// Work without pause until time and clock have settled, and then until the settled part is precise.
void measure_sustained(Device& device, Queue& queue, Decisions& decisions, OpenMeasurement& one,
                       const MeasureOptions& options);

}  // namespace jitterscope
