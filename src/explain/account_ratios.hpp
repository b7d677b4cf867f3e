// Ratios of times with their intervals, put together as accounts need them.
#pragma once

#include "explain/account.hpp"

namespace jitterscope::explain {

RatioEstimate ratio_with(double logarithm, double half);
/// Of the interval's logarithm; the longer one of the two, where the value is not in the middle.
double half_of(const RatioEstimate& ratio);
/// Half of a time's interval over its median; as wide as the time itself where too few rounds give none.
double relative_half(const TimeEstimate& time);
/// Of two times that were measured apart.
RatioEstimate time_ratio(const TimeEstimate& first, const TimeEstimate& second);
/// What no part accounts for, given the time and the parts.
RatioEstimate rest_of(const Account& account);

}  // namespace jitterscope::explain
