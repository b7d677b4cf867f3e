#include "report/plots/levels.hpp"

#include <algorithm>
#include <cmath>

#include "report/plots/waterfall.hpp"
#include "statistics/trimmed_mean.hpp"

namespace jitterscope::report {
namespace {

using namespace explain;

// The page's level, as well as the loops tell it. Not by ranks: of medians in steps of a timer most are
// alike.
TimeEstimate observed_level(const Observation& observation) {
  std::vector<double> medians;
  for (const ObservedLoop& loop : observation.loops) medians.push_back(loop.median.value());
  TimeEstimate level{observation.median, observation.median, observation.median, std::ssize(medians)};
  if (const auto mean = statistics::trimmed_mean(medians); mean && mean->value > 0.0) {
    level.low = level.median * (mean->interval.low / mean->value);
    level.high = level.median * (mean->interval.high / mean->value);
  }
  return level;
}

// Of a ratio of what was measured apart: squares of logarithms add up.
struct LogError {
  double below = 0.0, above = 0.0;

  void add(const RatioEstimate& ratio) {
    below += std::pow(std::log(ratio.ratio / ratio.low), 2);
    above += std::pow(std::log(ratio.high / ratio.ratio), 2);
  }
  RatioEstimate around(double ratio) const {
    return {ratio, ratio * std::exp(-std::sqrt(below)), ratio * std::exp(std::sqrt(above))};
  }
};

RatioEstimate inverse(const RatioEstimate& ratio) {
  return {1.0 / ratio.ratio, 1.0 / ratio.high, 1.0 / ratio.low};
}
RatioEstimate relative(const TimeEstimate& time) {
  return {1.0, time.low / time.median, time.high / time.median};
}

TimeEstimate fastest_level(const TimeEstimate& plain, const std::optional<FastestLoop>& fastest) {
  if (!fastest) return plain;
  return {plain.median * fastest->time.ratio, plain.median * fastest->time.low,
          plain.median * fastest->time.high, fastest->blocks};
}

struct TakenAway {
  const FactorResult* factor;
  const DoseEffect* dose;
};

// The largest first; nothing where a record names what it does not hold.
std::optional<std::vector<TakenAway>> taken_away(const Explanation& study) {
  std::vector<TakenAway> taken;
  if (!study.fastest) return taken;
  for (const FastestLoop::Part& part : study.fastest->parts) {
    const auto factor = std::ranges::find(study.factors, part.factor, &FactorResult::id);
    if (factor == study.factors.end()) return std::nullopt;
    const auto dose = std::ranges::find(factor->doses, part.dose, &DoseEffect::dose);
    if (dose == factor->doses.end() || !(dose->time.low > 0.0)) return std::nullopt;
    taken.push_back({&*factor, &*dose});
  }
  std::ranges::stable_sort(taken, {}, [](const TakenAway& each) { return each.dose->time.ratio; });
  return taken;
}

}  // namespace

std::optional<Plot> best_to_observed_plot(const Explanation& study) {
  const auto taken = taken_away(study);
  if (!study.plain || !taken || study.observation.loops.empty()) return std::nullopt;
  const TimeEstimate best = fastest_level(*study.plain, study.fastest),
                     observed = observed_level(study.observation);
  if (!(best.low > Nanoseconds(0)) || !(observed.low > Nanoseconds(0))) return std::nullopt;
  Waterfall waterfall(unit_for(std::max(best.median, observed.median)));
  waterfall.add_level("best", best);
  LogError error;
  error.add(relative(best));
  error.add(relative(observed));
  for (const TakenAway& each : *taken) {
    const RatioEstimate ratio = inverse(each.dose->time);
    waterfall.add_part(each.factor->cause, ratio, each.factor->usual + " in place of " + each.dose->dose);
    error.add(ratio);
  }
  waterfall.add_rest(error.around(observed.median / waterfall.reached()), observed.median);
  waterfall.add_level("observed", observed);
  const std::string caption =
      taken->empty()
          ? "No cause makes the plain loop faster: best is the plain loop behind the same rest each time. "
          : "Best: the loop with every cause of its length taken away at once. Red: what each adds, measured alone. ";
  return Plot{
      .id = "best",
      .title = "From best to observed: " + study.operation,
      .caption =
          caption +
          "Observed: plain loops behind idles of any length, as a first benchmark runs them. Grey: the rest, "
          "what causes do to each other and what these loops have of their own. Purple: 95 % intervals.",
      .spec = single_plot(waterfall.view()),
      .table = waterfall.table("by")};
}

Plot account_plot(const Account& account) {
  const bool traced = account.is_of_trace();
  Waterfall waterfall(unit_for(std::max(account.first.median, account.second.median)));
  waterfall.add_level(traced ? "alone" : "first record", account.first);
  for (const AccountedPart& part : account.parts) {
    if (part.ratio && part.ratio->ratio != 1.0) waterfall.add_part(part.name, *part.ratio, part.source);
  }
  waterfall.add_rest(account.rest, account.second.median);
  waterfall.add_level(traced ? "in PyTorch" : "second record", account.second);
  return Plot{
      .id = "account",
      .title = (traced ? "Alone and in PyTorch: " : "From the first record to the second: ") +
               explain::name_of(account),
      .caption =
          "Each circumstance in which the two differ, and what it does to the time where that is known. Grey: what no part "
          "accounts for. Purple: 95 % intervals.",
      .spec = single_plot(waterfall.view()),
      .table = waterfall.table("how it is known")};
}

}  // namespace jitterscope::report
