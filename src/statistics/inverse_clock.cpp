#include <algorithm>
#include <cmath>

#include "statistics/least_squares.hpp"
#include "statistics/statistics.hpp"

namespace jitterscope::statistics {
namespace {

/// Standard error from the estimates that each leave one point out.
double jackknife_error(std::span<const double> estimates) {
  const auto count = static_cast<double>(estimates.size());
  double mean = 0.0;
  for (const double estimate : estimates) {
    mean += estimate / count;
  }
  double squares = 0.0;
  for (const double estimate : estimates) {
    squares += (estimate - mean) * (estimate - mean);
  }
  return std::sqrt((count - 1.0) / count * squares);
}

/// Level and clock share at the reference (relative period 1), once for each point left out.
struct LeaveOneOut {
  std::vector<double> levels, shares;
};

/// By the leverage of each point (Sherman-Morrison), so n fits cost O(n). Nothing where one point alone
/// carries the slope: without it there is no fit.
std::optional<LeaveOneOut> leave_one_out(const CentredLine& line, std::span<const double> periods,
                                         std::span<const double> times) {
  const auto count = static_cast<double>(periods.size());
  LeaveOneOut result;
  for (std::size_t i = 0; i < periods.size(); ++i) {
    const double offset = periods[i] - line.mean_x;
    const double leverage = 1.0 / count + offset * offset / line.spread_x;
    if (leverage > 1.0 - 1e-9) {
      return std::nullopt;
    }
    const double pull = line.residual(periods[i], times[i]) / (1.0 - leverage);
    const double slope = line.slope - offset / line.spread_x * pull;
    const double centre = line.mean_y - pull / count;
    const double level = centre + slope * (1.0 - line.mean_x);
    result.levels.push_back(level);
    result.shares.push_back(slope / level);
  }
  return result;
}

}  // namespace

std::optional<InverseClockFit> fit_inverse_clock(std::span<const double> times,
                                                 std::span<const double> clocks, double reference_clock) {
  constexpr std::size_t kFewestPoints = 10;
  constexpr double kLargestShareError = 0.25;
  // A clock read over a round is good to some 1e-5; where it varied by less than 1e-6 it did not vary.
  constexpr double kLeastClockDeviation = 1e-6;

  const bool positive =
      reference_clock > 0.0 && std::all_of(clocks.begin(), clocks.end(), [](double f) { return f > 0.0; });
  if (!positive || (times.size() == clocks.size() && times.size() < kFewestPoints)) {
    return std::nullopt;
  }
  // Relative to the reference, the period is near 1 and the slope is the clock-bound time itself.
  std::vector<double> periods;
  for (const double clock : clocks) {
    periods.push_back(reference_clock / clock);
  }
  const CentredLine line = fit_centred(periods, times);
  const auto count = static_cast<double>(times.size());
  const double level = line.mean_y + line.slope * (1.0 - line.mean_x);
  if (std::sqrt(line.spread_x / count) < kLeastClockDeviation * line.mean_x || !(level > 0.0)) {
    return std::nullopt;
  }
  const std::optional<LeaveOneOut> left_out = leave_one_out(line, periods, times);
  if (!left_out) {
    return std::nullopt;
  }
  const double share_error = jackknife_error(left_out->shares);
  if (!(share_error <= kLargestShareError)) {
    return std::nullopt;
  }
  const double half = student_critical(0.95, count - 1.0) * jackknife_error(left_out->levels);
  return InverseClockFit{.intercept = level - line.slope,
                         .slope = line.slope * reference_clock,
                         .at_reference = level,
                         .interval = {level - half, level + half},
                         .clock_share = line.slope / level,
                         .clock_share_error = share_error};
}

}  // namespace jitterscope::statistics
