// Arithmetic of ratios of times with their intervals, as accounts need it.
#pragma once

#include <optional>
#include <string>

#include "explain/account.hpp"

namespace jitterscope::explain {

RatioEstimate ratio_with(double logarithm, double half);
/// Returns the half-width of the interval's logarithm; the larger one if the value is not in the middle.
double half_of(const RatioEstimate& ratio);
/// Returns half of a time's interval over its median; 1 if too few rounds give no interval.
double relative_half(const TimeEstimate& time);
/// Returns the ratio of two times that were measured apart.
RatioEstimate time_ratio(const TimeEstimate& first, const TimeEstimate& second);
/// Returns what is left of the ratio without the part. Their errors add up: a part may be known by the very
/// times whose ratio this is, or by an assumption that other parts share.
RatioEstimate without(const RatioEstimate& ratio, const RatioEstimate& part);
/// Returns the part of the time's change that no part accounts for.
RatioEstimate rest_of(const Account& account);
/// True if the ends lie further apart than the effect itself: they say what a part can do, and not what it
/// does.
bool is_wide(const RatioEstimate& ratio);
/// Returns the bounds of what a part can do, without what is more than the change that the others leave.
RatioEstimate within_change(const RatioEstimate& bounds, const RatioEstimate& change);

/// Predicts second over first from one side's fit t = a + b/f, for the other side's clock.
std::optional<RatioEstimate> foretold(const Measurement& fitted, double clock_ratio);
/// Widens the interval by a quarter of the effect. The clocks of one record lie within a percent or two, so
/// the line may not hold at another clock. In 12 pairs of simulated runs whose clocks alone differed, by 7 to
/// 12 %, the fit's own interval held the effect in 10, and with this quarter in 11.
RatioEstimate extrapolated(const RatioEstimate& ratio);

std::string kernel_names(const Result& result);

}  // namespace jitterscope::explain
