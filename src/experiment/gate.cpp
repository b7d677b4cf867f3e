#include "experiment/gate.hpp"

#include <algorithm>
#include <cmath>

namespace jitterscope {
namespace {

using statistics::EffectVerdict;

double log_distance(double ratio) { return std::abs(std::log(ratio)); }

constexpr double kChance = 0.02;  // of a slowdown or a speed-up where there is neither

// As many processes on each side as would bring the interval, which narrows as their root, within the margin,
// or a change above it far enough from none.
std::optional<std::int64_t> processes_for(const RatioEstimate& time, std::int64_t processes, double limit) {
  constexpr double kMost = 1000;
  constexpr double kWider = 1.25;  // an interval of 98 %, by Student's distribution of 14 degrees of freedom
  const double half = std::log(time.high / time.low) / 2.0, distance = log_distance(time.ratio);
  const double share = distance < limit ? half / (limit - distance) : kWider * half / distance;
  const double needed = std::ceil(static_cast<double>(processes) * share * share);
  return needed <= kMost ? std::optional(static_cast<std::int64_t>(needed)) : std::nullopt;
}

template <class Compared>
void judge_within(Compared& compared, double margin) {
  const bool is_shown =
      compared.verdict == EffectVerdict::slower || compared.verdict == EffectVerdict::faster;
  const double limit = std::log1p(margin);
  const bool is_passed = log_distance(compared.time.ratio) < limit || compared.p_value > kChance;
  if (!is_shown || !is_passed) return;
  compared.verdict = EffectVerdict::undecided;
  compared.processes_to_decide = processes_for(compared.time, compared.processes, limit);
}

// As it was typed where there is but one.
std::string name_of(const Comparison& comparison, const ComparisonRecord& record) {
  if (!comparison.layers.empty()) return comparison.layers.front();
  const std::string own = to_string(comparison.second.subject);
  const bool is_only = std::ranges::all_of(
      record.comparisons, [&](const Comparison& each) { return to_string(each.second.subject) == own; });
  return is_only && !record.title.empty() ? record.title : own;
}

GateCase case_of(const Comparison& comparison, const ComparisonRecord& record) {
  return {.name = name_of(comparison, record),
          .load = comparison.first.conditions.load,
          .cache = comparison.first.conditions.cache,
          .baseline = comparison.first.time,
          .now = comparison.second.time,
          .baseline_clock = comparison.first.clock,
          .clock = comparison.second.clock,
          .time = comparison.time,
          .cycles = comparison.cycles,
          .verdict = comparison.verdict,
          .processes_to_decide = comparison.processes_to_decide,
          .failure = comparison.failure};
}

GateCase case_of(const TotalComparison& total, const std::string& title) {
  return {.name = title,
          .load = total.load,
          .cache = total.cache,
          .baseline = total.first,
          .now = total.second,
          .baseline_clock = total.first_clock,
          .clock = total.second_clock,
          .time = total.time,
          .cycles = total.cycles,
          .verdict = total.verdict,
          .processes_to_decide = total.processes_to_decide};
}

}  // namespace

void judge_as_gate(ComparisonRecord& record) {
  for (Comparison& comparison : record.comparisons) {
    if (comparison.failure.empty()) judge_within(comparison, record.margin);
  }
  for (TotalComparison& total : record.totals) judge_within(total, record.margin);
}

std::vector<GateCase> gate_cases(const ComparisonRecord& record) {
  std::vector<GateCase> cases;
  for (const TotalComparison& total : record.totals) cases.push_back(case_of(total, record.title));
  for (const Comparison& comparison : record.comparisons) {
    // Of a network the total decides; but what has no time now is missing from it.
    if (record.totals.empty() || !comparison.failure.empty()) cases.push_back(case_of(comparison, record));
  }
  return cases;
}

std::optional<ClockMove> clock_move(const GateCase& each, double margin) {
  const bool changed = each.verdict == EffectVerdict::slower || each.verdict == EffectVerdict::faster;
  if (!changed || !each.cycles || !each.baseline_clock || !each.clock) return std::nullopt;
  const double limit = std::log1p(margin);
  const bool same_cycles = std::log(each.cycles->low) >= -limit && std::log(each.cycles->high) <= limit;
  const bool same_clock = std::abs(*each.clock / *each.baseline_clock - 1.0) <= kSameClock;
  if (!same_cycles || same_clock) return std::nullopt;
  return ClockMove{*each.baseline_clock, *each.clock, *each.cycles};
}

std::string_view to_string(GateVerdict verdict) {
  switch (verdict) {
    case GateVerdict::same: return "same";
    case GateVerdict::faster: return "faster";
    case GateVerdict::undecided: return "undecided";
    case GateVerdict::slower: return "slower";
    case GateVerdict::failed: return "failed";
    case GateVerdict::interrupted: return "interrupted";
  }
  return "undecided";
}

GateVerdict gate_verdict(const ComparisonRecord& record) {
  const std::vector<GateCase> cases = gate_cases(record);
  const auto any = [&](EffectVerdict verdict) {
    return std::ranges::any_of(
        cases, [&](const GateCase& each) { return each.failure.empty() && each.verdict == verdict; });
  };
  if (any(EffectVerdict::slower)) return GateVerdict::slower;
  if (record.interrupted) return GateVerdict::interrupted;
  const auto has_failed = [](const GateCase& each) { return !each.failure.empty(); };
  if (cases.empty() || std::ranges::any_of(cases, has_failed)) return GateVerdict::failed;
  if (any(EffectVerdict::undecided)) return GateVerdict::undecided;
  return any(EffectVerdict::faster) ? GateVerdict::faster : GateVerdict::same;
}

GateVerdict gate_verdict(const GateOutcome& outcome) {
  return outcome.failure.empty() ? gate_verdict(outcome.record) : GateVerdict::failed;
}

}  // namespace jitterscope
