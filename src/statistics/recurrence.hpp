// Values that come back after a fixed number of others, told from fewer of them than find_recurrence takes.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "statistics/statistics.hpp"

namespace jitterscope::statistics {

/// As find_recurrence, for one series whose boundary is known: with a log-likelihood higher by `evidence`,
/// and by log 2 for each number of the period. With 6, fewer than 1 in 200 series that are slow by chance
/// have a period, and 4 slow values of 20 show one.
std::optional<RecurrenceEstimate> find_recurrence(std::span<const std::int64_t> numbers,
                                                  std::span<const double> values, double boundary,
                                                  double evidence);

}  // namespace jitterscope::statistics
