// Totals of a network's layers, and times as rates.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "measure/run_record.hpp"

namespace jitterscope {

/// True if the results are those of a network, whose layers are counted.
bool is_network(const RunRecord& record);

/// Returns all conditions in which something was measured, in the order of first appearance.
std::vector<Conditions> distinct_conditions(const RunRecord& record);

/// Returns the measurement in these conditions, or null. If launches wait for the device, their eager
/// measurement also counts as saturated.
const Measurement* find_measurement(const Result& result, const Conditions& conditions);

/// Sum of all calls of a network in the same conditions, without the work between them.
struct NetworkTotal {
  Conditions conditions;
  Nanoseconds time;
  /// Half-widths are added, not taken as independent: all layers share the clock. nullopt if a layer has no
  /// interval.
  std::optional<Nanoseconds> low = {}, high = {};
  /// How far the instrument's constant may shift it, once for each launch (39 us in the 391 of MobileNet V2);
  /// as with one launch no part of the interval.
  Nanoseconds instrument_error = {};
  std::int64_t calls = 0, timed_calls = 0;  ///< if fewer are timed, the true total is larger than `time`

  bool is_complete() const { return timed_calls == calls; }
};

/// Returns a total for each of distinct_conditions(), in that order; empty if nothing was measured.
std::vector<NetworkTotal> network_totals(const RunRecord& record);

/// Returns the total with its interval, if any. `rounds` is the largest number, as no round holds a total.
TimeEstimate estimate_of(const NetworkTotal& total);

/// Returns the error of an instrument that is to be said beside an interval: where it is larger than its
/// half.
std::optional<Nanoseconds> instrument_error_beside(const TimeEstimate& time, Nanoseconds error);

/// The part of a file that could be timed.
struct TimedPart {
  std::int64_t calls = 0, of_calls = 0;
  std::optional<double> of_gpu_time;  ///< share of the recorded GPU time; nullopt if none was recorded

  /// Returns the share of the recorded GPU time, or of the calls if no time was recorded.
  double share() const;
};
/// nullopt if all of it was timed, or nothing.
std::optional<TimedPart> timed_part(const RunRecord& record);
/// True if the run was interrupted, or ended as others had failed, before it reached all that it can time.
bool ended_early(const RunRecord& record);
/// Returns the number of calls that the run would have timed if it had not ended early.
std::int64_t calls_to_time(const RunRecord& record);
/// Returns the part if it is less than half, or where a run ended early: then no sum of these times stands
/// for the file.
std::optional<TimedPart> smaller_timed_part(const RunRecord& record);

/// Returns each entry's share of the total in these conditions, all calls; nullopt if it was not measured.
std::vector<std::optional<double>> shares_of_total(const RunRecord& record, const Conditions& conditions);

// The rate that a time gives, compared with the best rate that this device has shown.

struct AchievedRate {
  double per_second = 0.0;     ///< FLOP/s if compute bound, else bytes/s
  bool compute_bound = false;  ///< else memory bound; by the nearer ceiling
  /// Share of the measured ceiling. Above 1 if operands stay in a cache, which a copy through memory does not
  /// show, or if the product that was to be the fastest was not. nullopt if no ceiling was measured, or if a
  /// simulated GPU does not simulate the arithmetic.
  std::optional<double> ceiling_share = {};

  /// True if it exceeds the ceiling by more than the ceiling's own uncertainty.
  bool is_above_ceiling() const { return ceiling_share && *ceiling_share > 1.05; }
};

/// Returns FLOP/s if arithmetic is nearer to its ceiling than memory traffic, else bytes/s. nullopt for an
/// operation with neither, such as a callable.
std::optional<AchievedRate> achieved_rate(const Result& result, Nanoseconds time, const RunRecord& record);

/// True for a user's kernel, or a chain with one, on a simulated GPU: its time is that of moving its buffers.
bool is_only_moved(const Operation& operation, const DeviceDescription& device);
/// The note for times of such operations.
inline constexpr const char* kOnlyMoved =
    "A simulated GPU only moves a kernel's buffers once. It does not model its arithmetic, its loops or how it reads, "
    "so this does not predict its time on a GPU.";

}  // namespace jitterscope
