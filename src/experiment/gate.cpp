#include "experiment/gate.hpp"

#include <algorithm>
#include <cmath>

#include "experiment/judgement.hpp"

namespace jitterscope {
namespace {

using statistics::EffectVerdict;

// Returns the layer's name, or the operation; the only operation is named as it was typed.
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

// True if the entry is compared in these conditions: if a baseline timed two states, both must be there.
bool is_compared(const RunEntry& entry, const Conditions& conditions, const ComparisonRecord& record) {
  return std::ranges::any_of(record.comparisons, [&](const Comparison& comparison) {
    const Conditions& own = comparison.first.conditions;
    return comparison.first.subject == entry.result.subject && comparison.layers == entry.layers &&
           (!comparison.failure.empty() || (own.load == conditions.load && own.cache == conditions.cache));
  });
}

}  // namespace

void compare_as_gate(const RunRecord& baseline, const RunRecord& now, ComparisonRecord& record) {
  compare_records(baseline, {&now, 1}, record, Judging::gate);
  if (now.interrupted) return;
  for (const RunEntry& entry : baseline.entries) {
    for (const Measurement& measurement : entry.result.measurements) {
      if (is_compared(entry, measurement.conditions, record)) continue;
      Comparison missing{.layers = entry.layers, .count = entry.count};
      missing.first = side_of(entry.result, measurement);
      missing.first.rounds.clear();  // there is nothing to show beside them
      missing.first.launches.clear();
      missing.second.subject = entry.result.subject;
      missing.failure = "it was not measured now: the work no longer contains it";
      record.comparisons.push_back(std::move(missing));
    }
  }
}

std::vector<GateCase> gate_cases(const ComparisonRecord& record) {
  std::vector<GateCase> cases;
  for (const TotalComparison& total : record.totals) cases.push_back(case_of(total, record.title));
  for (const Comparison& comparison : record.comparisons) {
    // The total decides for a network, but lacks layers that have no time now: these are cases of their own.
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
