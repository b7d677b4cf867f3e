// The waterfalls of an explanation: what lies between two levels of a time.
#pragma once

#include <optional>

#include "explain/account.hpp"
#include "explain/explanation.hpp"
#include "report/plot.hpp"

namespace jitterscope::report {

/// From the fastest loop that the study had to the loops that a first benchmark runs. Nothing where the study
/// did not come that far, or its record is older.
std::optional<Plot> best_to_observed_plot(const explain::Explanation& study);

/// From the first record's time to the second's.
Plot account_plot(const explain::Account& account);

}  // namespace jitterscope::report
