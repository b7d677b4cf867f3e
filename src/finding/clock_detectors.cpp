#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/quantity_text.hpp"
#include "finding/evidence.hpp"
#include "finding/finding.hpp"
#include "statistics/statistics.hpp"

// Detects sustained load that is slower than bursts because the clock is held down: by the power cap, or
// unreadably.

namespace jitterscope {
namespace {

// The counters move in steps of tens of milliseconds; a smaller share of the time does not count.
constexpr double kActiveCapShare = 0.01;

bool is_active(const Throttling& throttling) {
  return throttling.share > kActiveCapShare || throttling.rounds > kActiveCapShare;
}

std::string cap_text(const DeviceDescription& device) {
  return device.power_limit ? "the power cap of " + power_text(*device.power_limit) : "the power cap";
}

struct Comparison {
  const Measurement& burst;
  const Measurement& sustained;
  double time_change, clock_change;
};

bool is_slower_by_clock(const Comparison& pair) {
  const bool disjoint = pair.sustained.repeatability.low > pair.burst.repeatability.high;
  // A clock that explains less than a third of the change is not its cause.
  const bool clock_moved = -pair.clock_change > pair.time_change / 3.0;
  return disjoint && pair.time_change > kMaterialChange && clock_moved;
}

Finding describe(const Comparison& pair, const Throttling& power, const FindingContext& context) {
  const bool by_power = is_active(power);
  const std::string clocks = fmt::format("from {:.0f} to {}", pair.burst.clock->median.value() * 1e-6,
                                         clock_text(pair.sustained.clock->median));
  const std::string times =
      fmt::format("{} in bursts, {} sustained ({})", time_text(pair.burst.time.median, 0.001),
                  time_text(pair.sustained.time.median, 0.001), change_text(pair.time_change));
  const std::string_view clock = clock_word(context.on_gpu);
  Finding finding;
  finding.id = "power_cap";
  finding.headline =
      fmt::format("under load the {} {}", by_power ? "cap lowers the clock" : "clock falls", clocks);
  if (by_power) {
    finding.sentence = fmt::format("Under sustained load {} lowers the {} {}: {}.", cap_text(context.device),
                                   clock, clocks, times);
    finding.remedy =
        "Quote the sustained time for training or serving at full load and the burst time for an occasional "
        "call; to narrow the gap, draw fewer watts (smaller data types, less data movement).";
  } else {
    finding.sentence = fmt::format("Under sustained load the {} falls {}: {}. {}.", clock, clocks, times,
                                   power.readable ? "No sensor names the cause"
                                                  : "The sensor that would tell the cause is not readable");
    finding.remedy =
        "Quote the sustained time for continuous work and the burst time for an occasional call, each with "
        "its clock.";
  }
  finding.evidence = {
      evidence("burst_time", pair.burst.time.median), evidence("sustained_time", pair.sustained.time.median),
      evidence_ratio("time_change", pair.time_change), evidence("burst_clock", pair.burst.clock->median),
      evidence("sustained_clock", pair.sustained.clock->median)};
  if (power.readable) finding.evidence.push_back(evidence("throttled_power", power.held));
  if (context.device.power_limit)
    finding.evidence.push_back(evidence("power_limit", *context.device.power_limit));
  finding.evidence.push_back({"cause_known", by_power});
  return finding;
}

const Measurement* burst_counterpart(const Result& result, const Measurement& sustained) {
  Conditions wanted = sustained.conditions;
  wanted.load = Load::burst;
  const auto found = std::ranges::find(result.measurements, wanted, &Measurement::conditions);
  return found == result.measurements.end() ? nullptr : &*found;
}

// Returns the rounds in which power held the clock down, also before it settled. If no sensor shows them: the
// settled part, which is slower than bursts.
std::vector<std::size_t> rounds_held_down(const Measurement& sustained) {
  const Throttling held = throttling(sustained.rounds, ThrottleCause::power);
  const std::size_t settled = sustained.rounds.size() - settled_rounds(sustained).size();
  return held.affected.empty() ? rounds_from(settled, sustained) : held.affected;
}

std::vector<Candidate> sustained_below_burst(const Result& result, const FindingContext& context) {
  std::vector<Candidate> candidates;
  for (const Measurement& sustained : result.measurements) {
    if (sustained.conditions.load != Load::sustained || !sustained.clock) continue;
    const Measurement* burst = burst_counterpart(result, sustained);
    if (burst == nullptr || !burst->clock) continue;
    const Comparison pair{*burst, sustained, sustained.time.median / burst->time.median - 1.0,
                          sustained.clock->median / burst->clock->median - 1.0};
    const Throttling power = throttling(settled_rounds(sustained), ThrottleCause::power);
    const Throttling heat = throttling(settled_rounds(sustained), ThrottleCause::heat);
    const bool by_heat = is_active(heat) && !is_active(power);
    if (!is_slower_by_clock(pair) || by_heat) continue;
    Finding finding = describe(pair, power, context);
    finding.places = places_of(rounds_held_down(sustained), sustained, result);
    candidates.push_back({pair.time_change, sustained.conditions, std::move(finding)});
  }
  return candidates;
}

std::vector<Candidate> capped_in_bursts(const Result& result, const FindingContext& context) {
  // Idle time between bursts releases the cap, so only at least a quarter of the rounds counts.
  constexpr double kShareOfRounds = 0.25;
  std::vector<Candidate> candidates;
  for (const Measurement& burst : result.measurements) {
    if (burst.conditions.load != Load::burst || !burst.clock) continue;
    const Throttling power = throttling(burst.rounds, ThrottleCause::power);
    if (power.rounds < kShareOfRounds) continue;
    Finding finding;
    finding.id = "power_cap";
    finding.headline = fmt::format("even in bursts the power cap limits the {} to {}",
                                   clock_word(context.on_gpu), clock_text(burst.clock->median));
    finding.sentence =
        fmt::format("Even in bursts {} limits the {}: {} in {} of the rounds.", cap_text(context.device),
                    clock_word(context.on_gpu), clock_text(burst.clock->median), percent_text(power.rounds));
    finding.remedy =
        "Use more idle between rounds or fewer launches in each, or compare times at one clock "
        "(--reference-clock).";
    finding.sentence += reference_clock_text(burst);
    finding.evidence = {
        evidence("burst_time", burst.time.median), evidence("burst_clock", burst.clock->median),
        evidence_ratio("rounds_capped", power.rounds), evidence("throttled_power", power.held)};
    finding.places = places_of(power.affected, burst, result);
    candidates.push_back({power.rounds, burst.conditions, finding});
  }
  return candidates;
}

}  // namespace

std::vector<Finding> find_power_cap(const Result& result, const FindingContext& context) {
  std::vector<Finding> findings = strongest(sustained_below_burst(result, context));
  for (Finding& finding : strongest(capped_in_bursts(result, context)))
    findings.push_back(std::move(finding));
  return findings;
}

// Detects a clock held down by heat, or by the hardware brake of a power supply or board.

namespace {

// The counters of a cool device do not move at all; anything below these values is a single event.
constexpr double kActiveShare = 0.001, kActiveRounds = 0.1;

std::optional<Celsius> hottest(const Measurement& measurement) {
  std::optional<Celsius> highest;
  for (const Round& round : measurement.rounds) {
    if (!round.sensors || !round.sensors->temperature) continue;
    highest = std::max(highest.value_or(*round.sensors->temperature), *round.sensors->temperature);
  }
  return highest;
}

Finding describe(const Measurement& measurement, const Throttling& heat, const FindingContext& context) {
  const std::optional<Celsius> temperature = hottest(measurement);
  Finding finding;
  finding.id = "thermal";
  finding.headline = fmt::format("heat or a hardware brake held the {} down in {} of the rounds",
                                 clock_word(context.on_gpu), percent_text(heat.rounds));
  finding.sentence =
      fmt::format("Heat or a hardware brake held the {} down ({}): ", clock_word(context.on_gpu),
                  conditions_text(measurement.conditions));
  if (heat.share > 0.0) finding.sentence += fmt::format("for {} of the time, ", percent_text(heat.share));
  finding.sentence += fmt::format("in {} of the rounds", percent_text(heat.rounds));
  if (temperature) finding.sentence += fmt::format(", at up to {:.0f} °C", temperature->value());
  if (measurement.clock) {
    finding.sentence += fmt::format(", which ran at {}", clock_text(measurement.clock->median));
  }
  finding.sentence += ".";
  finding.remedy =
      "Let the device cool or improve its cooling, then measure again; these times hold only while it is "
      "this hot.";
  finding.evidence = {evidence("throttled_thermal", heat.held), evidence_ratio("throttled_share", heat.share),
                      evidence_ratio("rounds_throttled", heat.rounds)};
  if (temperature) finding.evidence.push_back(evidence("temperature", *temperature));
  if (measurement.clock) finding.evidence.push_back(evidence("clock", measurement.clock->median));
  return finding;
}

}  // namespace

std::vector<Finding> find_thermal(const Result& result, const FindingContext& context) {
  std::vector<Candidate> candidates;
  for (const Measurement& measurement : result.measurements) {
    const Throttling heat = throttling(measurement.rounds, ThrottleCause::heat);
    if (heat.share <= kActiveShare && heat.rounds < kActiveRounds) continue;
    Finding finding = describe(measurement, heat, context);
    finding.places = places_of(heat.affected, measurement, result);
    candidates.push_back({std::max(heat.share, heat.rounds), measurement.conditions, std::move(finding)});
  }
  return strongest(std::move(candidates));
}

// Detects bursts below the device's maximum clock, unless a sensor already explains it.

namespace {

bool is_explained(const Measurement& measurement) {
  return throttling(measurement.rounds, ThrottleCause::power).rounds > 0.0 ||
         throttling(measurement.rounds, ThrottleCause::heat).rounds > 0.0;
}

}  // namespace

std::vector<Finding> find_clock_below_maximum(const Result& result, const FindingContext& context) {
  // Large matrix products ran at 81 % in bursts, copies at 100 %; 90 % separates the two.
  constexpr double kLowShare = 0.9;
  if (!context.on_gpu || !context.device.maximum_clock) return {};
  const Hertz maximum = *context.device.maximum_clock;
  std::vector<Candidate> candidates;
  for (const Measurement& burst : result.measurements) {
    if (burst.conditions.load != Load::burst || !burst.clock || is_explained(burst)) continue;
    if (burst.conditions.locked_clock) continue;  // the user chose it
    const double share = burst.clock->median / maximum;
    if (!(share < kLowShare)) continue;
    Finding finding;
    finding.id = "clock_below_maximum";
    finding.headline = fmt::format("bursts ran at {}, the maximum is {}", clock_text(burst.clock->median),
                                   clock_text(maximum));
    finding.sentence =
        fmt::format("Bursts ran at {}, {} of the maximum of {}; another run may have another clock.",
                    clock_text(burst.clock->median), percent_text(share), clock_text(maximum));
    finding.sentence += reference_clock_text(burst);
    finding.remedy =
        "Quote the clock with the time, and compare with other runs at equal clock (--reference-clock) "
        "or by cycles.";
    finding.evidence = {evidence("burst_clock", burst.clock->median), evidence("maximum_clock", maximum),
                        evidence_ratio("clock_share", share)};
    const double follows = burst.at_reference_clock ? burst.at_reference_clock->clock_share : 1.0;
    candidates.push_back({(1.0 / share - 1.0) * follows, burst.conditions, finding});
  }
  return strongest(std::move(candidates));
}

// Detects a device that is slow after idle time: in the first launches of a round, or in whole rounds after a
// longer pause.

namespace {

// Returns how much slower the first value of a round is than the median of its second half, over all rounds.
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
  double change;  ///< change of clock (else time), shortest to longest idle
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
  finding.headline = fmt::format("the first launch of a round is slower: {}", time_change_text(excess));
  finding.sentence = fmt::format(
      "The first launch of a round is slower than those of its second half ({}): after the idle between "
      "rounds the "
      "device is still settling.",
      time_change_text(excess));
  finding.remedy = "Use more conditioning launches or a shorter idle between rounds.";
  finding.evidence = {evidence_ratio("first_launch_excess", excess),
                      evidence("time", measurement.time.median)};
  return finding;
}

Finding idle_finding(const IdleEffect& effect, const Measurement& measurement,
                     const FindingContext& context) {
  Finding finding;
  finding.id = "idle_ramp";
  finding.headline = effect.of_clock ? fmt::format("after a longer idle the {} is lower: {}",
                                                   clock_word(context.on_gpu), change_text(effect.change))
                                     : fmt::format("after a longer idle a round is slower: {}",
                                                   time_change_text(effect.change));
  finding.sentence =
      effect.of_clock
          ? fmt::format(
                "The {} of a round is lower after a longer idle: {} from the shortest to the longest.",
                clock_word(context.on_gpu), change_text(effect.change))
          : fmt::format("A round is slower after a longer idle: {} from the shortest to the longest.",
                        change_text(effect.change));
  finding.remedy =
      "Use a shorter idle between rounds or more conditioning launches, or compare times at one clock "
      "(--reference-clock).";
  finding.sentence += reference_clock_text(measurement);
  finding.evidence = {evidence_ratio(effect.of_clock ? "clock_change" : "time_change", effect.change)};
  return finding;
}

Finding sleep_finding(const SleepingClock& clock, const Measurement& measurement,
                      const FindingContext& context) {
  Finding finding;
  finding.id = "idle_ramp";
  finding.headline = fmt::format("the {} sleeps while idle, so launches woke it for {}",
                                 clock_word(context.on_gpu), duration_text(clock.woken_for));
  finding.sentence = fmt::format(
      "After an idle the {} is asleep: {} of launches woke it before each block. They are not in the time.",
      clock_word(context.on_gpu), duration_text(clock.woken_for));
  finding.evidence = {evidence("woken_for", clock.woken_for)};
  if (clock.time_asleep) {
    const double longer = *clock.time_asleep / measurement.time.median - 1.0;
    // If it slept in few of the blocks, their median is no longer, and says nothing about the sleep.
    if (longer > 0.0) {
      finding.sentence += fmt::format(" Without that a launch took {} ({}).", time_text(*clock.time_asleep),
                                      change_text(longer));
    }
    finding.evidence.push_back(evidence("time_asleep", *clock.time_asleep));
  }
  finding.remedy = "For the time of a single call after a pause use --iterations 1; otherwise do nothing.";
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

// Detects bursts whose level drifts over the record: the median then depends on when measuring stops.

std::vector<Finding> find_drift(const Result& result, const FindingContext& context) {
  std::vector<Candidate> candidates;
  for (const Measurement& measurement : result.measurements) {
    if (measurement.conditions.load != Load::burst) continue;
    const std::optional<double> change = drift_of(measurement);
    if (!change) continue;
    Finding finding;
    finding.id = "drift";
    finding.headline = fmt::format("the time changed in the course of the rounds: {}", change_text(*change));
    finding.sentence =
        fmt::format("The time changed by {} from the first to the last third of the rounds ({})",
                    change_text(*change), conditions_text(measurement.conditions));
    finding.evidence = {evidence_ratio("time_change", *change), evidence("time", measurement.time.median)};
    if (const auto clocks = round_clocks(measurement.rounds)) {
      const double clock_change = change_over_record(*clocks);
      finding.sentence +=
          fmt::format("; the {} changed by {}", clock_word(context.on_gpu), change_text(clock_change));
      finding.evidence.push_back(evidence_ratio("clock_change", clock_change));
    }
    finding.sentence += ".";
    finding.remedy =
        "Measure for longer, until the time is stable, or compare only by alternating both sides.";
    finding.places = places_of(outer_thirds(measurement), measurement, result);
    candidates.push_back({std::abs(*change), measurement.conditions, finding});
  }
  return strongest(std::move(candidates));
}

// Detects a sustained load that did not settle in the allowed time.

namespace {

std::string what_it_did(Steadiness::Verdict verdict) {
  switch (verdict) {
    case Steadiness::Verdict::steady: return "settled";
    case Steadiness::Verdict::warming_up: return "was still getting faster";
    case Steadiness::Verdict::slowing_down: return "was still getting slower";
    case Steadiness::Verdict::never_steady: return "kept changing level";
    case Steadiness::Verdict::not_shown: return "showed no change, but a change cannot be ruled out";
  }
  return "";
}

// True if the verdict comes from heat that will slow it down later, but has not yet.
bool is_about_to_slow_down(const Measurement& measurement) {
  return measurement.steadiness->verdict == Steadiness::Verdict::slowing_down &&
         change_over_record(round_times(measurement.rounds)) <= kMaterialChange;
}

// Levels that come and go cancel out between the ends of a record, so their range is given instead.
std::string how_much(const Measurement& measurement) {
  const std::vector<double> times = round_times(measurement.rounds);
  const Steadiness::Verdict verdict = measurement.steadiness->verdict;
  if (verdict == Steadiness::Verdict::warming_up || verdict == Steadiness::Verdict::slowing_down) {
    return change_text(change_over_record(times)) + " from the first to the last third";
  }
  const std::vector<double> q = statistics::quantiles(times, std::array{0.05, 0.95});
  const std::string low = time_text(Nanoseconds(q[0]), 0.001), high = time_text(Nanoseconds(q[1]), 0.001);
  return low == high ? "nine rounds in ten near " + low
                     : fmt::format("nine rounds in ten between {} and {}", low, high);
}

std::string what_happened(const Measurement& measurement) {
  const std::string words = is_about_to_slow_down(measurement)
                                ? "was about to get slower, as the chip had not stopped warming"
                                : what_it_did(measurement.steadiness->verdict);
  return fmt::format("{} ({})", words, how_much(measurement));
}

std::string remedy_of(Steadiness::Verdict verdict) {
  if (verdict == Steadiness::Verdict::never_steady) {
    return "Quote the range instead of one number, or look for other work on the machine and measure "
           "with a longer --sustained-time-limit.";
  }
  return "Use a longer --sustained-time-limit; until the time settles, quote it as a bound.";
}

// Returns no rounds if no change is seen.
std::vector<std::size_t> rounds_unsettled(const Measurement& measurement) {
  switch (measurement.steadiness->verdict) {
    case Steadiness::Verdict::warming_up:
    case Steadiness::Verdict::slowing_down:
    case Steadiness::Verdict::never_steady: return rounds_from(0, measurement);
    case Steadiness::Verdict::steady:
    case Steadiness::Verdict::not_shown: break;
  }
  return {};
}

// Heat takes tens of seconds: while the chip still warms, times that look level are not.
std::string warming_text(const Measurement& measurement) {
  const auto &first = measurement.rounds.front().sensors, &last = measurement.rounds.back().sensors;
  if (!first || !last || !first->temperature || !last->temperature) return "";
  constexpr double kWorthSaying = 2.0;
  if (last->temperature->value() - first->temperature->value() < kWorthSaying) return "";
  return fmt::format(", while the chip warmed from {:.0f} to {:.0f} °C", first->temperature->value(),
                     last->temperature->value());
}

}  // namespace

std::vector<Finding> find_no_steady_state(const Result& result, const FindingContext&) {
  std::vector<Candidate> candidates;
  for (const Measurement& measurement : result.measurements) {
    if (!measurement.steadiness || measurement.steadiness->verdict == Steadiness::Verdict::steady) continue;
    const Steadiness& steadiness = *measurement.steadiness;
    const double change = change_over_record(round_times(measurement.rounds));
    Finding finding;
    finding.id = "no_steady_state";
    finding.headline =
        fmt::format("no steady state within {} of sustained work", time_text(steadiness.watched));
    finding.sentence = fmt::format("No steady state within {} of sustained work ({}): it {}{}.",
                                   time_text(steadiness.watched), conditions_text(measurement.conditions),
                                   what_happened(measurement), warming_text(measurement));
    finding.remedy = remedy_of(steadiness.verdict);
    finding.evidence = {{"verdict", std::string(to_string(steadiness.verdict))},
                        evidence("watched", steadiness.watched),
                        evidence_ratio("time_change", change)};
    finding.places = places_of(rounds_unsettled(measurement), measurement, result);
    candidates.push_back({std::abs(change), measurement.conditions, finding});
  }
  return strongest(std::move(candidates));
}

// Warns if only bursts were measured and the first half second without pause shows that a sustained load
// takes another time. Of 29 operations on each of six simulated GPUs it warned for all 70 whose sustained
// time differed by more than 2 % from the bursts, and for 10 of the 104 others, which were near the power
// limit.

namespace {

constexpr double kMaterial = 0.02;
// Used without a counter of capped time: operations below this share of the power limit were never slowed by
// it, and those above nearly always.
constexpr double kNearLimit = 0.93;
// A smaller share of capped time is a single event.
constexpr double kCappedShare = 0.2;

bool is_capped(const LoadProbe& probe, const DeviceDescription& device) {
  if (probe.power_capped) return *probe.power_capped > kCappedShare;
  return probe.power && device.power_limit && *probe.power > *device.power_limit * kNearLimit;
}

std::string power_text_of(const LoadProbe& probe, const DeviceDescription& device) {
  if (!probe.power || !device.power_limit) return "the power cap acts";
  return fmt::format("it draws {} of the {} allowed", power_text(*probe.power),
                     power_text(*device.power_limit));
}

std::string clocks_text(const LoadProbe& probe, const Measurement& burst, std::string_view clock) {
  if (!probe.clock || !burst.clock) return {};
  return fmt::format(" (the {} from {:.0f} to {})", clock, burst.clock->median.value() * 1e-6,
                     clock_text(*probe.clock));
}

const Measurement* burst_of(const Result& result, CacheState cache) {
  const auto found = std::ranges::find_if(result.measurements, [&](const Measurement& measurement) {
    return measurement.conditions.load == Load::burst && measurement.conditions.cache == cache;
  });
  return found == result.measurements.end() ? nullptr : &*found;
}

Finding describe(const LoadProbe& probe, const Measurement& burst, double change, bool capped,
                 const FindingContext& context) {
  const std::string power = power_text_of(probe, context.device);
  const std::string times =
      fmt::format("after {} a launch took {}, {} in bursts ({}){}", time_text(probe.watched),
                  time_text(probe.time, 0.001), time_text(burst.time.median, 0.001), change_text(change),
                  clocks_text(probe, burst, clock_word(context.on_gpu)));
  Finding finding;
  finding.id = "sustained_differs";
  finding.headline = time_change_text(change) + " without pause";
  if (probe.power && context.device.power_limit && capped) {
    finding.headline +=
        fmt::format(", at {:.0f} of {}", probe.power->value(), power_text(*context.device.power_limit));
  }
  finding.headline += ": measure it with --load sustained";
  finding.sentence = capped ? fmt::format("Without pause {}; {}.", power, times)
                            : fmt::format("Without pause the time differs: {}.", times);
  finding.remedy = "For work without pauses measure that, too: --load burst,sustained.";
  finding.effect = std::abs(change);
  finding.evidence = {evidence("burst_time", burst.time.median), evidence("time", probe.time),
                      evidence_ratio("time_change", change), evidence("watched", probe.watched)};
  if (probe.power) finding.evidence.push_back(evidence("power", *probe.power));
  if (context.device.power_limit)
    finding.evidence.push_back(evidence("power_limit", *context.device.power_limit));
  if (probe.power_capped) finding.evidence.push_back(evidence_ratio("capped_share", *probe.power_capped));
  if (probe.clock) finding.evidence.push_back(evidence("clock", *probe.clock));
  return finding;
}

}  // namespace

std::vector<Finding> find_sustained_differs(const Result& result, const FindingContext& context) {
  if (!result.load_probe) return {};
  const LoadProbe& probe = *result.load_probe;
  const Measurement* burst = burst_of(result, probe.cache);
  if (burst == nullptr || !(burst->time.median > Nanoseconds(0))) return {};
  const double change = probe.time / burst->time.median - 1.0;
  const bool capped = is_capped(probe, context.device);
  if (!std::isfinite(change) || !(capped || std::abs(change) > kMaterial)) return {};
  return {describe(probe, *burst, change, capped, context)};
}

}  // namespace jitterscope
