#include "judge/verdict.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/quantity_text.hpp"
#include "experiment/judgement.hpp"

namespace jitterscope::judging {

using statistics::Effect;

std::string_view to_string(Verdict verdict) {
  switch (verdict) {
    case Verdict::faster: return "faster";
    case Verdict::slower: return "slower";
    case Verdict::same: return "same";
    case Verdict::undecided: return "undecided";
    case Verdict::wrong: return "wrong";
    case Verdict::invalid: return "invalid";
    case Verdict::refused: return "refused";
  }
  return "";
}

std::string_view to_string(Form form) {
  switch (form) {
    case Form::make: return "make";
    case Form::function: return "function";
    case Form::kernelbench: return "kernelbench";
    case Form::kernelbot: return "kernelbot";
  }
  return "";
}

std::optional<AchievedRate> achieved_rate(const Work& work, Nanoseconds time, const Ceilings& ceilings) {
  std::optional<AchievedRate> rate;
  if (!(time > Nanoseconds(0))) return rate;
  // Whichever ceiling takes longer is the one that the call can reach.
  const auto take = [&](double amount, double ceiling, bool is_compute) {
    if (!(amount > 0.0) || !(ceiling > 0.0)) return;
    const double per_second = amount / to_seconds(time), share = per_second / ceiling;
    if (rate && *rate->ceiling_share >= share) return;
    rate.emplace();
    rate->compute_bound = is_compute;
    rate->per_second = per_second;
    rate->ceiling_share = share;
  };
  for (const Ceilings::Compute& compute : ceilings.compute) {
    if (compute.dtype == work.dtype) take(work.flops, compute.flops_per_second, true);
  }
  take(work.bytes, ceilings.bytes_per_second.value_or(0.0), false);
  return rate;
}

std::string_view to_string(InvalidReason reason) {
  switch (reason) {
    case InvalidReason::none: return "none";
    case InvalidReason::link_broken: return "link broken";
    case InvalidReason::input_changed: return "input changed";
    case InvalidReason::window_used: return "window used";
    case InvalidReason::judge_touched: return "judge touched";
  }
  return "";
}

namespace {

Verdict verdict_of(statistics::EffectVerdict verdict) {
  switch (verdict) {
    case statistics::EffectVerdict::faster: return Verdict::faster;
    case statistics::EffectVerdict::slower: return Verdict::slower;
    case statistics::EffectVerdict::same: return Verdict::same;
    case statistics::EffectVerdict::undecided: break;
  }
  return Verdict::undecided;
}

// A case that ended before its last pair says why.
bool is_timed(const CaseJudgement& each) {
  return each.verdict == Verdict::undecided && each.evidence.empty();
}

// A pair counts if more than half of its blocks gave a ratio: of a call that is lost in the chain's own cost
// the blocks above zero alone would be too slow.
bool counts(const PairTimes& pair) {
  return pair.candidate > Nanoseconds(0) && pair.reference > Nanoseconds(0) && !pair.log_ratios.empty();
}

std::optional<Effect> effect_of(const CaseJudgement& each) {
  std::vector<std::vector<double>> ratios;
  for (const PairTimes& pair : each.pairs) {
    if (counts(pair)) ratios.push_back(pair.log_ratios);
  }
  // One pair of processes has no spread that an interval could be made of.
  if (ratios.size() < 2 || ratios.size() < each.pairs.size()) return std::nullopt;
  return statistics::effect_over_processes(ratios);
}

std::optional<Effect> reference_shift(const CaseJudgement& each) {
  std::vector<std::vector<double>> shifts;
  for (const PairTimes& pair : each.pairs) shifts.push_back({pair.reference_shift});
  return shifts.size() < 2 ? std::nullopt : statistics::effect_over_processes(shifts);
}

// The chance that the judge calls equal functions faster or slower. By the printed interval, which is of 95
// %, it would be one in twenty.
constexpr double kCalledByChance = 0.01;

bool is_beyond(const Effect& effect, double margin) { return std::abs(effect.value) > std::log1p(margin); }

// A difference within the margin is neither faster nor slower, even if it is shown.
Verdict verdict_by(const Effect& effect, double margin, bool is_shown) {
  return verdict_of(statistics::verdict_on(effect, margin, is_shown && is_beyond(effect, margin)));
}

// Returns how many pairs show a difference beyond the margin as a verdict needs it, or one within it as the
// same.
std::optional<std::int64_t> pairs_to_decide(const Effect& effect, double margin) {
  const double size = std::abs(effect.value);
  return is_beyond(effect, margin) ? statistics::processes_within(effect, size, 1.0 - kCalledByChance)
                                   : statistics::processes_within(effect, std::log1p(margin) - size);
}

void set_verdict(CaseJudgement& each, const Effect& effect, double margin, bool is_shown) {
  each.ratio = ratio_of(effect);
  each.p_value = effect.p_value;
  each.verdict = verdict_by(effect, margin, is_shown);
  if (const auto shift = reference_shift(each);
      shift && shift->excludes_zero() && std::abs(shift->value) > std::log1p(margin)) {
    each.findings.emplace_back("reference_disturbed");
    each.verdict = Verdict::undecided;
    each.evidence =
        fmt::format("the reference takes {} beside the candidate's process, so the candidate disturbs it",
                    time_change_text(std::exp(shift->value) - 1.0));
    return;
  }
  if (each.verdict != Verdict::undecided) return;
  each.pairs_to_decide = pairs_to_decide(effect, margin);
  each.evidence = each.pairs_to_decide
                      ? fmt::format("about --processes {} would probably decide", *each.pairs_to_decide)
                      : std::string("more processes would not decide");
  if (effect.excludes_zero() && is_beyond(effect, margin))
    each.evidence =
        "the interval of 95 % excludes equal times, but a verdict needs 99 % or more; " + each.evidence;
}

// The worst counts before all else; otherwise what the mean over cases shows.
void judge_cases(CandidateJudgement& candidate, double margin) {
  for (const Verdict bad : {Verdict::invalid, Verdict::wrong, Verdict::refused}) {
    if (std::ranges::find(candidate.cases, bad, &CaseJudgement::verdict) == candidate.cases.end()) continue;
    candidate.verdict = bad;
    return;
  }
  const auto is_undecided = [](const CaseJudgement& each) {
    return !each.ratio || std::ranges::find(each.findings, "reference_disturbed") != each.findings.end();
  };
  if (candidate.cases.empty() || std::ranges::any_of(candidate.cases, is_undecided)) return;
  std::size_t pairs = candidate.cases.front().pairs.size();
  for (const CaseJudgement& each : candidate.cases) pairs = std::min(pairs, each.pairs.size());
  for (std::size_t i = 0; i < pairs; ++i) {
    double sum = 0.0;
    for (const CaseJudgement& each : candidate.cases)
      sum += statistics::hodges_lehmann(each.pairs[i].log_ratios);
    candidate.values.push_back(sum / static_cast<double>(candidate.cases.size()));
  }
  std::vector<std::vector<double>> values;
  for (const double value : candidate.values) values.push_back({value});
  const auto effect = statistics::effect_over_processes(values);
  if (!effect) return;
  candidate.ratio = ratio_of(*effect);
  candidate.verdict = candidate.cases.size() == 1
                          ? candidate.cases.front().verdict
                          : verdict_by(*effect, margin, effect->p_value <= kCalledByChance);
}

// A place is new where the candidate is shown to be slower than the first of the place before.
void rank(std::vector<CandidateJudgement>& candidates) {
  std::vector<CandidateJudgement*> placed;
  for (CandidateJudgement& each : candidates) {
    if (each.ratio) placed.push_back(&each);
  }
  std::ranges::sort(placed, {}, [](const CandidateJudgement* each) { return each->ratio->ratio; });
  const CandidateJudgement* first = nullptr;
  for (std::size_t i = 0; i < placed.size(); ++i) {
    const auto between =
        first == nullptr ? std::nullopt : statistics::effect_between_groups(first->values, placed[i]->values);
    const double alpha = 0.05 / static_cast<double>(std::max<std::size_t>(1, placed.size() - 1));
    if (first == nullptr || (between && between->value > 0.0 && between->p_value < alpha)) {
      first = placed[i];
      placed[i]->rank = static_cast<std::int64_t>(i) + 1;
    } else {
      placed[i]->rank = first->rank;
    }
  }
}

}  // namespace

void reach_verdicts(std::vector<CandidateJudgement>& candidates, double margin) {
  std::vector<CaseJudgement*> judged;
  std::vector<Effect> effects;
  std::vector<double> p_values;
  for (CandidateJudgement& candidate : candidates) {
    for (CaseJudgement& each : candidate.cases) {
      if (!is_timed(each)) continue;
      if (const auto effect = effect_of(each)) {
        judged.push_back(&each);
        effects.push_back(*effect);
        p_values.push_back(effect->p_value);
      } else {
        each.verdict = Verdict::undecided;
        each.evidence = each.pairs.size() < 2
                            ? "one pair of processes gives no interval; ask for --processes 3 or more"
                            : "a call is shorter than what the chain itself costs here; take a larger case";
      }
    }
  }
  const std::vector<bool> shown = statistics::holm_rejects(p_values, kCalledByChance);
  for (std::size_t i = 0; i < judged.size(); ++i) set_verdict(*judged[i], effects[i], margin, shown[i]);
  for (CandidateJudgement& candidate : candidates) judge_cases(candidate, margin);
  rank(candidates);
}

}  // namespace jitterscope::judging
