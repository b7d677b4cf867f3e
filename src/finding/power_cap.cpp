// Sustained load slower than bursts because the clock is held down: the power cap, or a cause not readable.
#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "base/quantity_text.hpp"
#include "finding/detectors.hpp"
#include "finding/evidence.hpp"
#include "finding/places.hpp"
#include "finding/series.hpp"
#include "finding/throttling.hpp"

namespace jitterscope {
namespace {

// The counters move in steps of tens of milliseconds; less than this share of the time is no regime.
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

// Before it settled as well. Where no sensor names them: the settled part, which is slower than bursts are.
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
  // The idle between bursts lets the cap go, so a quarter of the rounds is a regime and not a remnant.
  constexpr double kShareOfRounds = 0.25;
  std::vector<Candidate> candidates;
  for (const Measurement& burst : result.measurements) {
    if (burst.conditions.load != Load::burst || !burst.clock) continue;
    const Throttling power = throttling(burst.rounds, ThrottleCause::power);
    if (power.rounds < kShareOfRounds) continue;
    Finding finding;
    finding.id = "power_cap";
    finding.headline = fmt::format("even in bursts the power cap holds the {} at {}",
                                   clock_word(context.on_gpu), clock_text(burst.clock->median));
    finding.sentence =
        fmt::format("Even in bursts {} holds the {} down: {} in {} of the rounds.", cap_text(context.device),
                    clock_word(context.on_gpu), clock_text(burst.clock->median), percent_text(power.rounds));
    finding.remedy =
        "Put more idle between rounds or fewer launches in each, or compare by the times at one clock "
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

}  // namespace jitterscope
