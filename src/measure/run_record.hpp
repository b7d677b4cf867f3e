// The record of one run: everything that output prints and writes.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "jitterscope/device.hpp"
#include "jitterscope/measure.hpp"
#include "jitterscope/measurement.hpp"
#include "jitterscope/units.hpp"
#include "operation/model.hpp"

namespace jitterscope {

/// The machine and its software; properties of the host in the order shown.
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
  /// Marks are read by the thread that launches, which other programs may interrupt.
  bool marks_are_of_host = false;
};

/// True if an interval exists: fewer than 6 rounds give none.
inline bool has_interval(const TimeEstimate& time) { return std::isfinite(time.precision()); }

/// True if the times have one level; false for a sustained load that never settled.
inline bool has_settled(const Measurement& measurement) {
  return !measurement.steadiness || measurement.steadiness->verdict == Steadiness::Verdict::steady;
}

/// True if "median ± half the interval" describes the interval: not if it is wide (±157 % of a time is no
/// interval), or if the median lies near one of its ends.
inline bool reads_as_plus_minus(const TimeEstimate& time) {
  constexpr double kWide = 0.1, kNarrow = 0.01, kLopsided = 0.75;
  const Nanoseconds half = (time.high - time.low) * 0.5, middle = (time.high + time.low) * 0.5;
  const Nanoseconds off(std::abs((middle - time.median).value()));
  return time.precision() <= kWide && (time.precision() <= kNarrow || off <= half * kLopsided);
}

/// True for the printed interval, which includes the variation between processes.
inline bool reached_precision(const Measurement& measurement) {
  return measurement.time.precision() <= measurement.precision_asked;
}

/// True if the part of the interval that longer measuring, or more processes, would narrow is precise.
inline bool rounds_reached_precision(const Measurement& measurement) {
  const bool one_process = measurement.processes.empty();
  return (one_process ? measurement.repeatability : measurement.time).precision() <=
         measurement.precision_asked;
}

/// Returns the error of one launch's time that an error of the instrument's constant makes.
inline Nanoseconds in_one_launch(Nanoseconds error_of_constant, const Measurement& measurement) {
  // The constant is subtracted once from a group between two marks; a recording's is already for one launch.
  const bool grouped = measurement.instrument == Instrument::events && !measurement.rounds.empty();
  const std::int64_t launches = grouped ? measurement.rounds.front().launches_per_value : 1;
  return error_of_constant / static_cast<double>(launches);
}

/// Returns how far the instrument's constant may be off in the time of one launch, the same for all launches.
inline Nanoseconds instrument_error(const Measurement& measurement) {
  return in_one_launch(measurement.constant.uncertainty, measurement);
}

/// One call of a network, timed where it runs.
struct SequenceCall {
  std::string name;
  std::size_t layer = 0;  ///< index of RunRecord::entries
  TimeEstimate time;      ///< first kernel's start to last kernel's end; no rounds if it did not run
  std::vector<LaunchKernel> kernels = {};  ///< if the device was traced
  std::string failure = {};                ///< why it was left out; empty if it was not
  std::int64_t unwritten = 0;  ///< operands that it reads and the network computes, but that no call wrote
};
/// The times of a network in sequence, always in bursts: passes are apart, so that they are independent.
struct SequenceMeasurement {
  std::vector<SequenceCall> calls;  ///< in order
  TimeEstimate iteration;           ///< start of the first call to the end of the last
  std::optional<Hertz> clock;       ///< median over iterations
  Instrument instrument = Instrument::cupti;
  /// eager: each call is launched after the one before has ended, as if the program's host were slower.
  QueueMode queue = QueueMode::saturated;
  double precision_asked = 0.0;
  bool is_connected = false;  ///< some call reads memory of an earlier one
};

/// Returns the number of timed calls: fewer than all if some failed or the user interrupted.
inline std::int64_t calls_timed(const SequenceMeasurement& sequence) {
  return std::ranges::count_if(sequence.calls, [](const SequenceCall& call) { return call.time.rounds > 0; });
}

/// True if the pass and nine of ten calls are precise: the tenth may be too short ever to be so.
inline bool reached_precision(const SequenceMeasurement& sequence) {
  const std::int64_t precise = std::ranges::count_if(sequence.calls, [&](const SequenceCall& call) {
    return call.time.rounds > 0 && call.time.precision() <= sequence.precision_asked;
  });
  return sequence.iteration.rounds > 0 && sequence.iteration.precision() <= sequence.precision_asked &&
         10 * precise >= 9 * calls_timed(sequence);
}

/// A result, and how the requested network uses it.
struct RunEntry {
  Result result = {};
  std::int64_t count = 1;                         ///< how often the network runs it
  std::vector<std::string> layers = {};           ///< the network's names for it; empty for typed operations
  std::optional<Nanoseconds> recorded_time = {};  ///< GPU time of one call in the input record
};

/// Rounds on one rank, one after the other: work, then the collective, launched without a hold and without a
/// wait between them. One element for each round.
struct ArrivalRounds {
  std::optional<std::int64_t> delayed_rank = {};  ///< the rank whose work took longer; nullopt: none
  Nanoseconds delay = {};                         ///< for how long
  std::vector<Nanoseconds> own_times = {};  ///< from this rank's arrival to the end of the collective here
  std::vector<Nanoseconds> gaps =
      {};  ///< from the collective before to the begin of the work: the host's launches
  std::vector<Nanoseconds> works = {};  ///< the work, with this rank's delay
};

struct CollectiveArrivals {
  std::string operation;
  std::vector<Nanoseconds>
      eager;  ///< one call of several that were launched one by one, in each block of them
  std::vector<ArrivalRounds> rounds;
};

/// The user's request. A run can only be continued with the same one.
struct RunAsked {
  std::vector<std::string> targets;  ///< as typed
  std::string only, provider;
  bool verify = false, ceilings = true, in_sequence = false;
  MeasureOptions options;  ///< without callbacks
};

/// Adds counts of calls, which a file may give in any size; a sum that is too large stays at the largest
/// number.
inline void add_calls(std::int64_t& sum, std::int64_t count) {
  if (__builtin_add_overflow(sum, count, &sum)) sum = std::numeric_limits<std::int64_t>::max();
}

/// Rates of the link between a rank's device and another's, in bytes per second: those that cross it one way,
/// or in sum those of both ways at once.
struct LinkRates {
  std::int64_t peer = 0;
  std::string way;  ///< as PeerMemory::way_to
  double by_copy_engine = 0, by_copy_engine_both_ways = 0, by_kernel = 0, by_kernel_both_ways = 0;
};

struct RunRecord {
  Environment environment;
  DeviceDescription device;
  Calibration calibration;
  Ceilings ceilings;
  std::string title;        ///< the model or operation that was asked for
  std::string device_note;  ///< one sentence: why this device, if the user named none
  std::vector<RunEntry> entries;
  std::optional<SequenceMeasurement> sequence;
  std::vector<CollectiveArrivals> arrivals;      ///< of this rank, if they were asked for
  std::vector<LinkRates> links;                  ///< of this rank to each other, if they were asked for
  std::vector<UntimedOperator> untimed;          ///< operators of the input record that were not timed
  std::optional<Nanoseconds> recorded_gpu_time;  ///< for everything in the input record
  std::optional<RecordedUse> recorded_use;       ///< of the GPU by the recorded program
  std::vector<std::string> notes;                ///< sentences about what was read
  std::vector<Finding> findings;                 ///< about the machine, not about one operation
  std::optional<RunAsked> asked;                 ///< nullopt in files of earlier versions
  bool interrupted = false;
};

/// Returns the results of a run's entries, in order. (No view: clang 14 compiles none of GCC 12's.)
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

/// Proves that eviction evicts: a probe after one eviction, after several (memory never touched), warm.
struct CacheProof {
  Nanoseconds evicted_read, untouched_read, cached_read;
  bool proven = false;
};

}  // namespace jitterscope
