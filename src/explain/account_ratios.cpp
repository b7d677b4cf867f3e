#include "explain/account_ratios.hpp"

#include <algorithm>
#include <cmath>

namespace jitterscope::explain {

double relative_half(const TimeEstimate& time) {
  return std::isfinite(time.precision()) ? (time.high - time.low) / time.median / 2.0 : 1.0;
}

RatioEstimate ratio_with(double logarithm, double half) {
  return {std::exp(logarithm), std::exp(logarithm - half), std::exp(logarithm + half)};
}

double half_of(const RatioEstimate& ratio) {
  return std::max(std::log(ratio.high / ratio.ratio), std::log(ratio.ratio / ratio.low));
}

RatioEstimate time_ratio(const TimeEstimate& first, const TimeEstimate& second) {
  return ratio_with(std::log(second.median / first.median),
                    std::hypot(relative_half(first), relative_half(second)));
}

RatioEstimate rest_of(const Account& account) {
  double rest = std::log(account.time.ratio), half = half_of(account.time);
  for (const AccountedPart& part : account.parts) {
    if (!part.ratio) continue;
    rest -= std::log(part.ratio->ratio);
    half = std::hypot(half, half_of(*part.ratio));
  }
  return ratio_with(rest, half);
}

}  // namespace jitterscope::explain
