#include "experiment/comparison.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/quantity_text.hpp"

namespace jitterscope {
namespace {

bool is_factor(const RatioEstimate& ratio) {
  return ratio.ratio >= kSaidAsFactor || (ratio.ratio > 0.0 && ratio.ratio <= 1.0 / kSaidAsFactor);
}

// A factor whose interval holds 1: as parts of one its end beyond 1 would read 1/0.
bool is_factor_to_either_side(const RatioEstimate& ratio) {
  return is_factor(ratio) && ratio.low < 1.0 && ratio.high > 1.0;
}

double half_width(const RatioEstimate& ratio) { return (ratio.high - ratio.low) / 2.0; }

std::string percent_of(double ratio, int decimals) { return signed_text((ratio - 1.0) * 100.0, decimals); }

// Returns as many as show two digits of the half-width at most, and no more than hundredths.
int decimals_of_percent(const RatioEstimate& ratio) {
  const double half = half_width(ratio);
  if (half <= 0.0) return std::abs(ratio.ratio - 1.0) < 0.01 ? 2 : 1;  // not known: as change_text
  return half < 0.00995 ? 2 : half < 0.0995 ? 1 : 0;
}

// In percent. What is known better than to a hundredth is said to be known to one: nobody needs more.
double shown_half(const RatioEstimate& ratio) { return std::max(0.01, half_width(ratio) * 100.0); }

// Writes ends of an interval as the number of times, or as the parts of one, that the ratio itself is said
// in.
std::string factor_of(double ratio, const RatioEstimate& whole) {
  const bool is_part = whole.ratio < 1.0;
  const double factor = is_part ? 1.0 / whole.ratio : whole.ratio;
  const double half = half_width(whole) / whole.ratio * factor;
  const int decimals = half < 0.005 ? 3 : half < 0.05 ? 2 : half < 5.0 ? 1 : 0;
  return is_part ? fmt::format("1/{:.{}f}", 1.0 / ratio, decimals) : fmt::format("{:.{}f}", ratio, decimals);
}

// True if the times may differ by a factor of ten to either side: their medians say more than such a range.
bool is_unknown(const RatioEstimate& ratio) { return ratio.low <= 0.1 && ratio.high >= 10.0; }

std::string range_of(const RatioEstimate& ratio) {
  if (is_unknown(ratio)) return "not known";
  // An interval that reaches below 0 comes from too few processes: no part of one can be said of it.
  if (ratio.low <= 0.0 || ratio.high >= kSaidAsFactor || is_factor_to_either_side(ratio))
    return fmt::format("{:.1f} to {:.1f} times", std::max(0.0, ratio.low), ratio.high);
  if (is_factor(ratio)) return factor_of(ratio.low, ratio) + " to " + factor_of(ratio.high, ratio);
  const int decimals = decimals_of_percent(ratio);
  return fmt::format("{} to {} %", percent_of(ratio.low, decimals), percent_of(ratio.high, decimals));
}

// The interval comes from logarithms and is symmetric only if narrow: "-22 ± 20 %" for -40 to +1 % would
// wrongly exclude 0.
bool is_wide(const RatioEstimate& ratio) {
  constexpr double kLopsided = 0.1;
  return half_width(ratio) > kLopsided * ratio.ratio;
}

// True if the value lies near an end of its interval, as bounds of what a part can do have it.
bool is_one_sided(const RatioEstimate& ratio) {
  constexpr double kUneven = 2.0, kShown = 0.001;
  const double up = ratio.high - ratio.ratio, down = ratio.ratio - ratio.low;
  return std::abs(up - down) > kShown && std::max(up, down) > kUneven * std::min(up, down);
}

}  // namespace

std::string change_of(const RatioEstimate& ratio) {
  const double half = half_width(ratio);
  if (is_wide(ratio) || is_one_sided(ratio)) return range_of(ratio);
  if (is_factor(ratio)) {
    constexpr double kLeast = 1e-5;  // a few processes may agree by chance to more than any timer tells apart
    return fmt::format("{}{} ± {}", factor_of(ratio.ratio, ratio), ratio.ratio > 1.0 ? " times" : "",
                       percent_text(std::max(kLeast, half / ratio.ratio)));
  }
  const int decimals = decimals_of_percent(ratio);
  if (half <= 0.0) return percent_of(ratio.ratio, decimals) + " %";
  return fmt::format("{} ± {:.{}f} %", percent_of(ratio.ratio, decimals), shown_half(ratio), decimals);
}

ChangeWords change_words_of(const RatioEstimate& ratio) {
  if (is_factor(ratio) && ratio.low > 0.0 && !is_factor_to_either_side(ratio)) {
    return {factor_of(ratio.ratio, ratio) + (ratio.ratio > 1.0 ? " times as long" : " of the time"),
            fmt::format("{} to {}", factor_of(ratio.low, ratio), factor_of(ratio.high, ratio))};
  }
  if (is_unknown(ratio)) return {range_of(ratio), {}};
  if (ratio.low <= 0.0 || is_factor_to_either_side(ratio)) return {range_of(ratio) + " as long", {}};
  const int decimals = decimals_of_percent(ratio);
  const std::string low = percent_of(ratio.low, decimals), high = percent_of(ratio.high, decimals);
  if (half_width(ratio) <= 0.0) return {percent_of(ratio.ratio, decimals) + " %", {}};
  if (is_wide(ratio) && ratio.high >= kSaidAsFactor)  // as change_of has it
    return {percent_of(ratio.ratio, decimals) + " %", range_of(ratio)};
  return {percent_of(ratio.ratio, decimals) + " %",
          low == high ? fmt::format("± {:.2f} %", shown_half(ratio)) : fmt::format("{} to {} %", low, high)};
}

std::string change_with_interval(const RatioEstimate& ratio) {
  const ChangeWords words = change_words_of(ratio);
  return words.interval.empty() ? words.change : fmt::format("{} ({})", words.change, words.interval);
}

bool is_wrong(const Comparison& comparison) {
  const auto failed = [](const ComparedSide& side) {
    return side.verification && !side.verification->passed;
  };
  return failed(comparison.first) || failed(comparison.second);
}

const LeftOutLayers* left_out_of(const ComparisonRecord& record, std::size_t alternative,
                                 std::size_t compared) {
  const auto found = std::ranges::find_if(record.left_out, [&](const LeftOutLayers& each) {
    return each.alternative == alternative && (each.beside == 0 || each.beside == compared);
  });
  return found == record.left_out.end() ? nullptr : &*found;
}

bool is_whole(const ComparisonRecord& record, const TotalComparison& total) {
  const std::size_t compared = total.alternative;
  if (left_out_of(record, 0, compared) || left_out_of(record, compared, compared)) return false;
  return std::ranges::none_of(record.comparisons, [&](const Comparison& each) {
    return each.alternative == total.alternative && !each.failure.empty();
  });
}

double resolution_of(const ComparisonRecord& record, const TotalComparison& total) {
  double time = 0.0, weighted = 0.0;
  for (const Comparison& each : record.comparisons) {
    const Conditions& own = each.first.conditions;
    const bool is_in = each.failure.empty() && own.load == total.load && own.cache == total.cache;
    if (each.alternative != total.alternative || !is_in) continue;
    const double all = each.first.time.median.value() * static_cast<double>(each.count);
    time += all;
    weighted += all * each.resolution;
  }
  return time > 0.0 ? weighted / time : 0.0;
}

bool is_below_resolution(double margin, const RatioEstimate& time, double resolution) {
  return margin < resolution && std::abs(std::log(time.ratio)) < resolution;
}

std::optional<Nanoseconds> per_sample(const ComparisonRecord& record, std::size_t alternative,
                                      Nanoseconds time) {
  if (alternative >= record.samples.size()) return std::nullopt;
  return time / static_cast<double>(record.samples[alternative]);
}

std::vector<double> recorded_works(std::vector<double> works) {
  for (std::size_t i = works.size(); i-- > 0;) works[i] /= works.front();
  if (std::ranges::all_of(works, [](double each) { return each == 1.0; })) works.clear();
  return works;
}

double work_of(const ComparisonRecord& record, std::size_t alternative) {
  return alternative < record.works.size() ? record.works[alternative] / record.works.front() : 1.0;
}

}  // namespace jitterscope
