#include "explain/verdicts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/quantity_text.hpp"
#include "experiment/judgement.hpp"
#include "statistics/effect.hpp"
#include "statistics/statistics.hpp"

namespace jitterscope::explain {
namespace {

using statistics::Effect;
using statistics::EffectVerdict;

// The smallest p values of trimmed means are a quarter too small: at 4 % one study in twenty names a false
// cause.
constexpr double kAlpha = 0.04;

// The interval is over blocks. One block in five may be spoilt, for example by another program.
std::optional<Effect> effect_of_blocks(std::span<const double> differences) {
  const std::optional<statistics::TrimmedMean> mean = statistics::trimmed_mean(differences);
  if (!mean) return std::nullopt;
  return Effect{mean->value, mean->interval, std::ssize(differences), 0.0, 0.0, mean->p_value};
}

// True if the effect grows from no dose to the strongest: the slope over the doses, block by block, has the
// sign of the strongest dose's effect and an interval without zero, and the strongest does not do much less
// than the weakest. An effect that is complete at the weakest dose may waver beyond it.
bool grows(const std::vector<const PairedEffect*>& doses) {
  std::size_t blocks = doses.front()->log_times.size();
  for (const PairedEffect* dose : doses) blocks = std::min(blocks, dose->log_times.size());
  const double middle = static_cast<double>(doses.size()) / 2.0;  // mean of the doses' numbers 0, 1, …
  std::vector<double> slopes, steps;
  for (std::size_t block = 0; block < blocks; ++block) {
    double slope = 0.0;  // no dose adds nothing: its difference is zero
    for (std::size_t i = 0; i < doses.size(); ++i) {
      slope += (static_cast<double>(i + 1) - middle) * doses[i]->log_times[block];
    }
    slopes.push_back(slope);
    steps.push_back(doses.back()->log_times[block] - doses.front()->log_times[block]);
  }
  const std::optional<Effect> slope = effect_of_blocks(slopes);
  const std::optional<Effect> strongest = effect_of_blocks(doses.back()->log_times);
  const std::optional<Effect> step = effect_of_blocks(steps);
  if (!slope || !strongest || !step) return false;
  const double sign = strongest->value > 0.0 ? 1.0 : -1.0;
  constexpr double kMuch = 0.2;  // share of the strongest dose's effect
  const double fall = -step->value * sign;
  const bool falls = step->excludes_zero() && fall > std::max(kMuch * std::abs(strongest->value), kMaterial);
  return slope->excludes_zero() && slope->value * sign > 0.0 && !falls;
}

// Returns the dummy that is shown to move the time most; nullopt if none is: on a machine that changes its
// speed for seconds, blocks are not as independent as their interval takes them to be.
std::optional<Effect> moved_by_nothing(const std::vector<PairedEffect>& dummies) {
  std::optional<Effect> largest;
  for (const PairedEffect& dummy : dummies) {
    const std::optional<Effect> effect = effect_of_blocks(dummy.log_times);
    if (!effect || !effect->excludes_zero()) continue;
    if (!largest || std::abs(effect->value) > std::abs(largest->value)) largest = effect;
  }
  return largest;
}

// True if the effect is shown to be larger than a dummy's, whichever way either goes.
bool exceeds(const Effect& effect, const Effect& dummy) {
  const auto half = [](const Effect& each) { return (each.interval.high - each.interval.low) / 2.0; };
  return std::abs(effect.value) - std::abs(dummy.value) > std::hypot(half(effect), half(dummy));
}

// The strongest dose decides if doses grow, else the one that moves the time most.
std::size_t judge_factor(FactorResult& result, const Factor& factor,
                         const std::vector<const PairedEffect*>& doses, const std::vector<bool>& shown,
                         std::size_t all_doses, const std::optional<Effect>& dummy) {
  std::vector<Effect> effects;
  std::vector<bool> are_shown;
  std::vector<std::size_t> numbers;
  for (std::size_t i = 0; i < doses.size(); ++i) {
    const std::optional<Effect> effect = effect_of_blocks(doses[i]->log_times);
    if (!effect) continue;
    const std::optional<Effect> clock = effect_of_blocks(doses[i]->log_clocks);
    DoseEffect& dose = result.doses.emplace_back();
    dose.dose = factor.doses[doses[i]->dose].text;
    dose.time = ratio_of(*effect);
    if (clock) dose.clock = ratio_of(*clock);
    dose.blocks = effect->processes;
    dose.p_value = effect->p_value;
    effects.push_back(*effect);
    are_shown.push_back(shown[i]);
    numbers.push_back(doses[i]->dose);
  }
  if (effects.empty()) return 0;
  const auto size = [](const Effect& effect) { return std::abs(effect.value); };
  result.strongest =
      factor.doses_grow
          ? effects.size() - 1
          : static_cast<std::size_t>(std::ranges::max_element(effects, {}, size) - effects.begin());
  const Effect& effect = effects[result.strongest];
  const auto is_within = [&](const Effect& each) {
    return statistics::verdict_on(each, kMaterial, false) == EffectVerdict::same;
  };
  const bool is_material = std::abs(effect.value) > std::log1p(kMaterial);
  if (std::ranges::all_of(effects, is_within)) {
    result.verdict = FactorVerdict::cleared;
  } else if (are_shown[result.strongest] && is_material && effect.processes >= kFewestBlocks) {
    const bool must_grow = factor.doses_grow && effects.size() > 1;
    if (factor.only_slows && effect.value < 0.0) {
      result.reason = "that can only take time";
    } else if (must_grow && !grows(doses)) {
      result.reason = "more of it does not do more";
    } else if (dummy && !exceeds(effect, *dummy)) {
      result.reason = fmt::format("a factor that does nothing moved the time by {} here",
                                  change_text(std::expm1(dummy->value)));
    } else {
      result.verdict = FactorVerdict::cause;
    }
  } else {
    // An effect must be shown beside those of all other doses.
    const double distance =
        is_material ? std::abs(effect.value) : std::log1p(kMaterial) - std::abs(effect.value);
    result.blocks_to_decide = statistics::processes_within(
        effect, distance, is_material ? 1.0 - kAlpha / static_cast<double>(all_doses) : 0.95);
    if (!result.blocks_to_decide) result.reason = "a thousand blocks would not show it beside all others";
  }
  return numbers[result.strongest];
}

void note_failures(const FactorList& factors, const std::vector<PairedEffects::Failure>& failures,
                   std::vector<FactorResult>& results) {
  for (const PairedEffects::Failure& failure : failures) {
    FactorResult& result = results[failure.factor];
    if (result.doses.empty()) result.verdict = FactorVerdict::not_identifiable;
    result.reason += (result.reason.empty() ? "" : "; ") +
                     fmt::format("{}: {}", factors[failure.factor]->doses[failure.dose].text, failure.reason);
  }
}

}  // namespace

std::string_view to_string(FactorVerdict verdict) {
  switch (verdict) {
    case FactorVerdict::cause: return "cause";
    case FactorVerdict::cleared: return "cleared";
    case FactorVerdict::unresolved: return "unresolved";
    case FactorVerdict::left_out: return "left out";
    case FactorVerdict::not_identifiable: return "not identifiable";
  }
  return "unresolved";
}

std::optional<RatioEstimate> ratio_of_blocks(std::span<const double> differences) {
  const std::optional<Effect> effect = effect_of_blocks(differences);
  return effect ? std::optional(ratio_of(*effect)) : std::nullopt;
}

std::vector<std::size_t> judge_factors(const FactorList& factors, const PairedEffects& paired,
                                       std::vector<FactorResult>& results) {
  std::vector<double> p_values;
  for (const PairedEffect& dose : paired.doses) {
    const std::optional<Effect> effect = effect_of_blocks(dose.log_times);
    p_values.push_back(effect ? effect->p_value : 1.0);
  }
  const std::vector<bool> is_shown = statistics::holm_rejects(p_values, kAlpha);
  const std::optional<Effect> dummy = moved_by_nothing(paired.dummies);
  std::vector<std::size_t> decisive;
  for (std::size_t factor = 0; factor < factors.size(); ++factor) {
    std::vector<const PairedEffect*> doses;
    std::vector<bool> shown;
    for (std::size_t i = 0; i < paired.doses.size(); ++i) {
      if (paired.doses[i].factor != factor) continue;
      doses.push_back(&paired.doses[i]);
      shown.push_back(is_shown[i]);
    }
    decisive.push_back(
        judge_factor(results[factor], *factors[factor], doses, shown, paired.doses.size(), dummy));
  }
  note_failures(factors, paired.failures, results);
  return decisive;
}

}  // namespace jitterscope::explain
