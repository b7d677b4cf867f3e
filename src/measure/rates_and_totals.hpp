// The times of a network's layers, added up.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "measure/run_record.hpp"

namespace jitterscope {

/// Whether the results are those of a network, whose layers are counted.
bool is_network(const RunRecord& record);

/// Every kind of conditions in which something was measured, in the order first met.
std::vector<Conditions> distinct_conditions(const RunRecord& record);

/// The measurement in these conditions, or null. Where launches wait for the device, saturated is also what
/// had to be run eagerly.
const Measurement* find_measurement(const Result& result, const Conditions& conditions);

/// All calls of a network in one kind of conditions: none of the work between them.
struct NetworkTotal {
  Conditions conditions;
  Nanoseconds time;
  /// Half-widths are added, not taken as independent: the clock is common to all layers, and so is the error
  /// of the instrument's constant, which is added once for each launch (39 us in the 391 of MobileNet V2).
  /// Nothing where a layer has no interval.
  std::optional<Nanoseconds> low = {}, high = {};
  std::int64_t calls = 0, timed_calls = 0;  ///< fewer timed than calls: the total is larger than `time`

  bool is_complete() const { return timed_calls == calls; }
};

/// In each kind of conditions, in the order of distinct_conditions; empty where nothing was measured.
std::vector<NetworkTotal> network_totals(const RunRecord& record);

/// As one time, with the interval where there is one. No round holds a total: it has as many as can be.
TimeEstimate estimate_of(const NetworkTotal& total);

/// Of a file of which a part could not be timed: how much the times are of.
struct TimedPart {
  std::int64_t calls = 0, of_calls = 0;
  std::optional<double> of_gpu_time;  ///< as it was recorded; nothing where no time was

  /// Of the recorded GPU time, or of the calls where no time was recorded.
  double share() const;
};
/// Nothing where all of it was timed, and where nothing was.
std::optional<TimedPart> timed_part(const RunRecord& record);
/// The part where it is less than half: then no sum of these times is one of the file.
std::optional<TimedPart> smaller_timed_part(const RunRecord& record);

/// Of all calls of each entry in the total of these conditions; nothing where it was not measured.
std::vector<std::optional<double>> shares_of_total(const RunRecord& record, const Conditions& conditions);

// What a time means as a rate, beside the best that this device has shown.

struct AchievedRate {
  double per_second = 0.0;     ///< FLOP/s where bound by compute, else bytes/s
  bool compute_bound = false;  ///< else by memory: the nearer of the two ceilings
  /// Of the measured ceiling. Above one where operands stay in a cache, which a copy through memory does not
  /// show, or where the product that was to be the fastest was not. Nothing where no ceiling was measured, or
  /// where a simulated GPU does not look at the arithmetic.
  std::optional<double> ceiling_share = {};

  /// Beyond what the ceiling, itself a measurement, is known to.
  bool is_above_ceiling() const { return ceiling_share && *ceiling_share > 1.05; }
};

/// FLOP/s where arithmetic is nearer to its ceiling than memory traffic is, else bytes/s. Nothing for an
/// operation without either, such as a callable.
std::optional<AchievedRate> achieved_rate(const Result& result, Nanoseconds time, const RunRecord& record);

/// A kernel of the user's, or a chain with one, on a simulated GPU: its time is that of moving its buffers.
bool is_only_moved(const Operation& operation, const DeviceDescription& device);
/// What to say of each time of such a one.
inline constexpr const char* kOnlyMoved =
    "A simulated GPU moves a kernel's buffers once, whatever it does with them: its arithmetic, its loops and how "
    "it reads are not looked at, so this is no forecast of its time.";

}  // namespace jitterscope
