// After idle the device is slow at first: the first launches of a round, or whole rounds after a longer
// pause.
#include <fmt/format.h>

#include <optional>
#include <vector>

#include "base/quantity_text.hpp"
#include "finding/detectors.hpp"
#include "finding/evidence.hpp"
#include "finding/series.hpp"
#include "statistics/statistics.hpp"

namespace jitterscope {
namespace {

// How much slower the first value of a round is than the median of its second half, over all rounds.
std::optional<double> slower_first_launch(const Measurement& measurement) {
  constexpr std::size_t kFewestLaunches = 4;
  std::vector<double> ratios;
  for (const Round& round : measurement.rounds) {
    if (round.launches.size() < kFewestLaunches) continue;
    std::vector<double> later;
    for (std::size_t i = round.launches.size() / 2; i < round.launches.size(); ++i) {
      later.push_back(round.launches[i].value());
    }
    const double settled = statistics::median(later);
    if (settled > 0.0) ratios.push_back(round.launches.front().value() / settled - 1.0);
  }
  const std::optional<statistics::Interval> interval = statistics::median_interval(ratios, 0.998);
  if (!interval || interval->low <= 0.0) return std::nullopt;
  const double excess = statistics::median(ratios);
  return excess > kMaterialChange ? std::optional(excess) : std::nullopt;
}

struct IdleEffect {
  double
      change;  ///< from the shortest to the longest idle: of the clock, or of the time where no clock is read
  bool of_clock;
};

std::optional<IdleEffect> follows_idle(const Measurement& measurement) {
  std::vector<double> idle;
  for (const Round& round : measurement.rounds) idle.push_back(round.idle_before.value());
  const std::optional<std::vector<double>> clocks = round_clocks(measurement.rounds);
  const std::optional<double> change = change_along(idle, clocks ? *clocks : round_times(measurement.rounds));
  if (!change || !((clocks ? -*change : *change) > kMaterialChange)) return std::nullopt;
  return IdleEffect{*change, clocks.has_value()};
}

Finding first_launch_finding(double excess, const Measurement& measurement) {
  Finding finding;
  finding.id = "idle_ramp";
  finding.headline = fmt::format("the first launch of a round takes {} longer", percent_text(excess));
  finding.sentence = fmt::format(
      "The first launch of a round takes {} longer than those of its second half: after the idle between "
      "rounds the device is still settling.",
      percent_text(excess));
  finding.remedy = "Use more conditioning launches or a shorter idle between rounds.";
  finding.evidence = {evidence_ratio("first_launch_excess", excess),
                      evidence("time", measurement.time.median)};
  return finding;
}

Finding idle_finding(const IdleEffect& effect, const Measurement& measurement,
                     const FindingContext& context) {
  Finding finding;
  finding.id = "idle_ramp";
  finding.headline =
      effect.of_clock ? fmt::format("after a longer idle the {} is lower: {}", clock_word(context.on_gpu),
                                    change_text(effect.change))
                      : fmt::format("after a longer idle a round is slower: {}", change_text(effect.change));
  finding.sentence =
      effect.of_clock
          ? fmt::format(
                "The {} of a round is lower after a longer idle: {} from the shortest to the longest.",
                clock_word(context.on_gpu), change_text(effect.change))
          : fmt::format("A round is slower after a longer idle: {} from the shortest to the longest.",
                        change_text(effect.change));
  finding.remedy =
      "Use a shorter idle between rounds or more conditioning launches, or compare by the times at one clock "
      "(--reference-clock).";
  finding.sentence += reference_clock_text(measurement);
  finding.evidence = {evidence_ratio(effect.of_clock ? "clock_change" : "time_change", effect.change)};
  return finding;
}

Finding sleep_finding(const SleepingClock& clock, const Measurement& measurement,
                      const FindingContext& context) {
  Finding finding;
  finding.id = "idle_ramp";
  finding.headline = fmt::format("the {} sleeps while idle, and was woken for {}", clock_word(context.on_gpu),
                                 duration_text(clock.woken_for));
  finding.sentence = fmt::format(
      "Behind an idle the {} is asleep: {} of launches woke it before each block, and none of them is in the time.",
      clock_word(context.on_gpu), duration_text(clock.woken_for));
  finding.evidence = {evidence("woken_for", clock.woken_for)};
  if (clock.time_asleep) {
    const double longer = *clock.time_asleep / measurement.time.median - 1.0;
    // Where it slept in few of the blocks their median is no longer, and says nothing of the sleep.
    if (longer > 0.0) {
      finding.sentence += fmt::format(" Without that a launch took {} ({}).", time_text(*clock.time_asleep),
                                      change_text(longer));
    }
    finding.evidence.push_back(evidence("time_asleep", *clock.time_asleep));
  }
  finding.remedy =
      "For the time of a single call behind a pause look at the first of --iterations 1; else none is needed.";
  return finding;
}

}  // namespace

std::vector<Finding> find_idle_ramp(const Result& result, const FindingContext& context) {
  std::vector<Candidate> candidates;
  for (const Measurement& measurement : result.measurements) {
    if (measurement.conditions.load != Load::burst) continue;
    if (measurement.sleeping_clock) {
      const SleepingClock& clock = *measurement.sleeping_clock;
      const double longer =
          clock.time_asleep.value_or(measurement.time.median) / measurement.time.median - 1.0;
      candidates.push_back({longer, measurement.conditions, sleep_finding(clock, measurement, context)});
    } else if (const std::optional<double> excess = slower_first_launch(measurement)) {
      candidates.push_back({*excess, measurement.conditions, first_launch_finding(*excess, measurement)});
    } else if (const std::optional<IdleEffect> effect = follows_idle(measurement)) {
      const double strength = effect->of_clock ? -effect->change : effect->change;
      candidates.push_back({strength, measurement.conditions, idle_finding(*effect, measurement, context)});
    }
  }
  return strongest(std::move(candidates));
}

}  // namespace jitterscope
