// What a time means as a rate, beside the best that this device has shown.
#pragma once

#include <optional>

#include "measure/run_record.hpp"

namespace jitterscope {

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
