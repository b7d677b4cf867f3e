// Everything one call of the tool found out: what output prints and writes.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "jitterscope/device.hpp"
#include "jitterscope/measure.hpp"
#include "jitterscope/measurement.hpp"
#include "jitterscope/units.hpp"
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

/// Whether an interval exists: fewer than 6 rounds give none.
inline bool has_interval(const TimeEstimate& time) { return std::isfinite(time.precision()); }

/// Whether there is one level to speak of: not so for a sustained load that never settled.
inline bool has_settled(const Measurement& measurement) {
  return !measurement.steadiness || measurement.steadiness->verdict == Steadiness::Verdict::steady;
}

/// Whether "median ± half the interval" says what the interval says. It does not where the interval is wide
/// (±157 % of a time is none), or where the median lies near one of its ends.
inline bool reads_as_plus_minus(const TimeEstimate& time) {
  constexpr double kWide = 0.1, kNarrow = 0.01, kLopsided = 0.75;
  const Nanoseconds half = (time.high - time.low) * 0.5, middle = (time.high + time.low) * 0.5;
  const Nanoseconds off(std::abs((middle - time.median).value()));
  return time.precision() <= kWide && (time.precision() <= kNarrow || off <= half * kLopsided);
}

/// Of the printed interval, with what processes differ by.
inline bool reached_precision(const Measurement& measurement) {
  return measurement.time.precision() <= measurement.precision_asked;
}

/// Of what measuring for longer, or in more processes, would change.
inline bool rounds_reached_precision(const Measurement& measurement) {
  const bool one_process = measurement.processes.empty();
  return (one_process ? measurement.repeatability : measurement.time).precision() <=
         measurement.precision_asked;
}

/// What an error of the instrument's constant is in the time of one launch.
inline Nanoseconds in_one_launch(Nanoseconds error_of_constant, const Measurement& measurement) {
  // Of a group between two marks the constant is taken off once; that of a recording is one launch's already.
  const bool grouped = measurement.instrument == Instrument::events && !measurement.rounds.empty();
  const std::int64_t launches = grouped ? measurement.rounds.front().launches_per_value : 1;
  return error_of_constant / static_cast<double>(launches);
}

/// By how much the instrument's constant may be off in the time of one launch, for all launches alike.
inline Nanoseconds instrument_error(const Measurement& measurement) {
  return in_one_launch(measurement.constant.uncertainty, measurement);
}

/// One call of a network, timed where it runs.
struct SequenceCall {
  std::string name;
  std::size_t layer = 0;  ///< index of RunRecord::entries
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

/// A result, and how the network that was asked for uses it.
struct RunEntry {
  Result result = {};
  std::int64_t count = 1;                         ///< how often the network runs it
  std::vector<std::string> layers = {};           ///< the network's names for it; empty for what was typed
  std::optional<Nanoseconds> recorded_time = {};  ///< GPU time of one call in the record that was read
};

/// What the user asked for. A run goes on only as it began.
struct RunAsked {
  std::vector<std::string> targets;  ///< as typed
  std::string only, provider;
  bool verify = false, ceilings = true, in_sequence = false;
  MeasureOptions options;  ///< but for what it calls
};

struct RunRecord {
  Environment environment;
  DeviceDescription device;
  Calibration calibration;
  Ceilings ceilings;
  std::string title;        ///< the model or the operation that was asked for
  std::string device_note;  ///< one sentence: why this device, where the user named none
  std::vector<RunEntry> entries;
  std::optional<SequenceMeasurement> sequence;
  std::vector<UntimedOperator> untimed;          ///< what a record holds but was not timed
  std::optional<Nanoseconds> recorded_gpu_time;  ///< of all that the record holds
  std::vector<std::string> notes;                ///< sentences about what was read
  std::vector<Finding> findings;                 ///< about the machine, not about one operation
  std::optional<RunAsked> asked;                 ///< nothing in files of earlier versions
  bool interrupted = false;
};

// What a run measured, without how its network uses it.

/// The results of a run's entries, in their order. (No view: clang 14 compiles none of GCC 12's.)
inline std::vector<std::reference_wrapper<const Result>> results_of(const RunRecord& record) {
  std::vector<std::reference_wrapper<const Result>> results;
  for (const RunEntry& entry : record.entries) results.emplace_back(entry.result);
  return results;
}
inline std::vector<std::reference_wrapper<Result>> results_of(RunRecord& record) {
  std::vector<std::reference_wrapper<Result>> results;
  for (RunEntry& entry : record.entries) results.emplace_back(entry.result);
  return results;
}

// Evidence that eviction evicts.

/// Times of one probe copy: after one eviction, after several (as memory never touched), and warm.
struct CacheProof {
  Nanoseconds evicted_read, untouched_read, cached_read;
  bool proven = false;
};

}  // namespace jitterscope
