// Everything one call of the tool found out: what output prints and writes.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "jitterscope/device.hpp"
#include "jitterscope/measurement.hpp"
#include "operation/model.hpp"

namespace jitterscope {

/// The machine and the moment; properties of the host in the order shown.
struct Environment {
  std::string tool_version;
  std::string command_line;
  std::string time;  ///< ISO 8601, UTC
  std::vector<Property>
      host;  ///< host_name, kernel, cpu, cpu_governor, virtualisation, container, memory_bytes…
};

/// Instrument constants as measured at the start of the run.
struct Calibration {
  InstrumentConstant events, graph;
  std::string method;  ///< one sentence: what they were measured against
};

/// Whether there is one level to speak of: not so for a sustained load that never settled.
inline bool has_settled(const Measurement& measurement) {
  return !measurement.steadiness || measurement.steadiness->verdict == Steadiness::Verdict::steady;
}

inline bool reached_precision(const Measurement& measurement) {
  return measurement.time.precision() <= measurement.precision_asked;
}

/// By how much the instrument's constant may be off in the time of one launch, for all launches alike.
inline Nanoseconds instrument_error(const Measurement& measurement) {
  // Of a group between two marks the constant is taken off once; that of a recording is one launch's already.
  const bool grouped = measurement.instrument == Instrument::events && !measurement.rounds.empty();
  const std::int64_t launches = grouped ? measurement.rounds.front().launches_per_value : 1;
  return measurement.constant.uncertainty / static_cast<double>(launches);
}

/// One call of a network, timed where it runs.
struct SequenceCall {
  std::string name;
  std::size_t layer = 0;  ///< index of RunRecord::results
  TimeEstimate time;      ///< first kernel's start to last kernel's end; no rounds where it did not run
  std::vector<LaunchKernel> kernels = {};  ///< where the device was traced
  std::string failure = {};                ///< empty, or why it was left out
  std::int64_t unwritten = 0;  ///< operands that it reads, that the network computes, and that no call wrote
};
/// Always in bursts: passes are apart, so that they are independent.
struct SequenceMeasurement {
  std::vector<SequenceCall> calls;  ///< in order
  TimeEstimate iteration;           ///< start of the first call to the end of the last
  std::optional<Hertz> clock;       ///< median over iterations
  Instrument instrument = Instrument::cupti;
  /// eager: each call is launched when the one before has ended, as where a program's host is the slower one.
  QueueMode queue = QueueMode::saturated;
  double precision_asked = 0.0;
  bool is_connected = false;  ///< any call lies in memory of an earlier one
};

/// Calls that were timed: fewer than all where some failed, or where the user interrupted.
inline std::int64_t calls_timed(const SequenceMeasurement& sequence) {
  return std::ranges::count_if(sequence.calls, [](const SequenceCall& call) { return call.time.rounds > 0; });
}

/// Nine calls of ten, and the pass: the tenth may be a few microseconds long, and never as precise.
inline bool reached_precision(const SequenceMeasurement& sequence) {
  const std::int64_t precise = std::ranges::count_if(sequence.calls, [&](const SequenceCall& call) {
    return call.time.rounds > 0 && call.time.precision() <= sequence.precision_asked;
  });
  return sequence.iteration.rounds > 0 && sequence.iteration.precision() <= sequence.precision_asked &&
         10 * precise >= 9 * calls_timed(sequence);
}

struct RunRecord {
  Environment environment;
  DeviceDescription device;
  Calibration calibration;
  Ceilings ceilings;
  std::string title;        ///< the model or the operation that was asked for
  std::string device_note;  ///< one sentence: why this device, where the user named none
  std::vector<Result> results;
  std::optional<SequenceMeasurement> sequence;
  std::vector<UntimedOperator> untimed;          ///< what a record holds but was not timed
  std::optional<Nanoseconds> recorded_gpu_time;  ///< of all that the record holds
  std::vector<std::string> notes;                ///< sentences about what was read
  std::vector<Finding> findings;                 ///< about the machine, not about one operation
  bool interrupted = false;
};

}  // namespace jitterscope
