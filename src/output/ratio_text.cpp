#include "output/ratio_text.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace jitterscope {
namespace {

// "+1131.2 %" is harder to read than "12.3 times".
bool is_factor(const RatioEstimate& ratio) { return ratio.ratio >= 3.0; }

int decimals_of(const RatioEstimate& ratio) {
  const double half = (ratio.high - ratio.low) / 2.0;
  if (is_factor(ratio)) return half < 0.005 ? 3 : half < 0.05 ? 2 : half < 5.0 ? 1 : 0;
  return half < 0.0005 ? 3 : half < 0.02 ? 2 : 1;
}

std::string percent_of(double ratio, int decimals) {
  return fmt::format("{:+.{}f}", (ratio - 1.0) * 100.0, decimals);
}

}  // namespace

std::string change_with_interval(const RatioEstimate& ratio) {
  const int decimals = decimals_of(ratio);
  if (is_factor(ratio)) {
    return fmt::format("{:.{}f} times ({:.{}f} to {:.{}f})", ratio.ratio, decimals, ratio.low, decimals,
                       ratio.high, decimals);
  }
  return fmt::format("{} % ({} to {} %)", percent_of(ratio.ratio, decimals), percent_of(ratio.low, decimals),
                     percent_of(ratio.high, decimals));
}

std::string change_of(const RatioEstimate& ratio) {
  // A half-width beyond all of what is known reads as a number with an error, which it is not.
  const bool is_unknown = ratio.high - ratio.low > 2.0;
  if (is_unknown && !is_factor(ratio))
    return fmt::format("{:.1f} to {:.1f} times", std::max(0.0, ratio.low), ratio.high);
  const int decimals = decimals_of(ratio);
  const double half = (ratio.high - ratio.low) / 2.0;
  // An interval of logarithms lies to both sides of its middle alike only where it is narrow: "-22 ± 20 %"
  // for -40 to +1 % would exclude none.
  constexpr double kLopsided = 0.1;
  if (!is_factor(ratio) && half > kLopsided * ratio.ratio) {
    return fmt::format("{} to {} %", percent_of(ratio.low, decimals), percent_of(ratio.high, decimals));
  }
  if (is_factor(ratio)) return fmt::format("{:.{}f} ± {:.{}f} times", ratio.ratio, decimals, half, decimals);
  return fmt::format("{} ± {:.{}f} %", percent_of(ratio.ratio, decimals), half * 100.0, decimals);
}

}  // namespace jitterscope
