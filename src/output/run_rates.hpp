// What a time means as a rate, beside the best that this device has shown.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "measure/run_record.hpp"

namespace jitterscope {

/// In place of a share: a copy through memory is no ceiling for operands that stay in a cache.
inline constexpr std::string_view kInCache = "in cache";
/// For below a table in which kInCache stands.
inline constexpr std::string_view kInCacheExplained =
    "in cache: more bytes per second than memory gives, since the operands stay in a cache.";

struct AchievedRate {
  std::string rate;  ///< "795 TFLOP/s" or "4.31 TB/s": what limits the operation
  /// "79 %" of the measured ceiling, or kInCache; empty where none was measured.
  std::string share;
  bool compute_bound = false;  ///< else by memory
};

/// FLOP/s where arithmetic is nearer to its ceiling than memory traffic is, else bytes/s. Nothing for an
/// operation without either, such as a callable.
std::optional<AchievedRate> achieved_rate(const Result& result, Nanoseconds time, const Ceilings& ceilings);

}  // namespace jitterscope
