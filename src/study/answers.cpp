#include "study/answers.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/names.hpp"
#include "base/quantity_text.hpp"
#include "measure/rates_and_totals.hpp"
#include "statistics/effect.hpp"

namespace jitterscope::study {
namespace {

using statistics::EffectVerdict;

bool is_in_first_conditions(const ComparisonRecord& record, const Comparison& comparison) {
  const Conditions& first = record.comparisons.front().first.conditions;
  const Conditions& own = comparison.first.conditions;
  return own.load == first.load && own.cache == first.cache;
}

// False for arms that run the first arm's operation in another way, since they compute the same, and for
// callables, which the caller compares.
bool needs_comparison(const Comparison& comparison) {
  const Operation* operation = operation_of(comparison.second.subject);
  if (operation == nullptr || comparison.second.subject == comparison.first.subject) return false;
  return comparison.failure.empty() &&
         std::ranges::count(operation->operands(), OperandRole::output, &Operand::role) > 0;
}

void add_errors(const ComparisonRecord& record, ArmOutcome& outcome) {
  for (const Comparison& comparison : record.comparisons) {
    const auto& verification = comparison.second.verification;
    if (comparison.alternative != outcome.alternative) continue;
    if (!verification) {
      outcome.is_compared = outcome.is_compared && !needs_comparison(comparison);
      continue;
    }
    outcome.error = std::max(outcome.error.value_or(0.0), verification->relative_error);
    outcome.is_wrong = outcome.is_wrong || !verification->passed;
  }
}

std::string error_clause(const ArmOutcome& outcome) {
  const bool is_inexact = outcome.error.value_or(0.0) > 0.0;
  return is_inexact ? fmt::format(", with a relative error of {:.1e}", *outcome.error) : std::string();
}

// One operation or a whole network has one number; for several operations the text says how many are faster.
std::string fastest_sentence(const std::vector<ArmOutcome>& outcomes, const ArmOutcome& best,
                             const std::string& first) {
  const auto all = std::ranges::count(outcomes, outcomes.front().alternative, &ArmOutcome::alternative);
  if (all == 1)
    return fmt::format("**{} is {}**{}.", best.name, speed_against(best.time, first), error_clause(best));
  const auto of_best = std::ranges::count_if(outcomes, [&](const ArmOutcome& outcome) {
    return is_faster(outcome) && outcome.alternative == best.alternative;
  });
  return fmt::format("**{} is faster than {} for {} of {} operations**, at best {}{}.", best.name, first,
                     of_best, all, change_with_interval(best.time), error_clause(best));
}

std::vector<ArmOutcome> outcomes_without_bounds(const StudyResult& result) {
  std::vector<ArmOutcome> outcomes = arm_outcomes(result.record);
  std::erase_if(outcomes,
                [&](const ArmOutcome& outcome) { return result.arms[outcome.alternative].is_bound; });
  return outcomes;
}

}  // namespace

void add(Sentences& sentences, std::string sentence) {
  if (!sentence.empty()) sentences.push_back(std::move(sentence));
}

void add(Sentences& sentences, Sentences more) {
  for (std::string& sentence : more) add(sentences, std::move(sentence));
}

bool has_time(const Comparison& comparison) { return comparison.failure.empty() && !is_wrong(comparison); }

std::vector<ArmOutcome> arm_outcomes(const ComparisonRecord& record) {
  std::vector<ArmOutcome> outcomes;
  const auto add = [&](std::size_t alternative, const RatioEstimate& time, EffectVerdict verdict,
                       const std::vector<double>& process_ratios) {
    outcomes.push_back({alternative, record.alternatives[alternative], time, verdict, {}});
    outcomes.back().process_ratios = process_ratios;
    add_errors(record, outcomes.back());
  };
  if (!record.totals.empty()) {
    for (const TotalComparison& total : record.totals) {
      const TotalComparison& first = record.totals.front();
      if (total.load == first.load && total.cache == first.cache) {
        add(total.alternative, total.time, total.verdict, {});
      }
    }
    return outcomes;
  }
  for (const Comparison& comparison : record.comparisons) {
    if (!comparison.failure.empty() || !is_in_first_conditions(record, comparison)) continue;
    add(comparison.alternative, comparison.time, comparison.verdict, comparison.process_ratios);
  }
  return outcomes;
}

std::string speed_against(const RatioEstimate& time, const std::string& first) {
  return fmt::format("{} than {}: {}", time.ratio < 1.0 ? "faster" : "slower", first,
                     change_with_interval(time));
}

std::string not_decided(const std::string& what) {
  return fmt::format("**Not decided: {}**; use more processes (--processes).", what);
}

bool any_undecided(const std::vector<ArmOutcome>& outcomes) {
  return std::ranges::any_of(
      outcomes, [](const ArmOutcome& outcome) { return !outcome.is_wrong && is_undecided(outcome); });
}

namespace {

double log_half_width(const RatioEstimate& time) { return 0.5 * std::log(time.high / time.low); }

// Of two arms in the same processes; the differences of totals are not known by process.
statistics::Effect effect_between(const ArmOutcome& first, const ArmOutcome& second) {
  const std::size_t processes = first.process_ratios.size();
  if (processes > 1 && processes == second.process_ratios.size()) {
    std::vector<std::vector<double>> differences;
    for (std::size_t i = 0; i < processes; ++i)
      differences.push_back({std::log(second.process_ratios[i] / first.process_ratios[i])});
    if (const auto effect = statistics::effect_over_processes(differences)) return *effect;
  }
  return statistics::effect_with_half_width(
      std::log(second.time.ratio / first.time.ratio),
      std::hypot(log_half_width(first.time), log_half_width(second.time)));
}

bool are_told_apart(const ArmOutcome& first, const ArmOutcome& second, double margin) {
  const statistics::Effect effect = effect_between(first, second);
  const EffectVerdict verdict = statistics::verdict_on(effect, margin, effect.excludes_zero());
  return verdict == EffectVerdict::faster || verdict == EffectVerdict::slower;
}

bool is_better_of_equals(const StudyResult& result, const ArmOutcome& one, const ArmOutcome& other) {
  const double error = one.error.value_or(0.0), others = other.error.value_or(0.0);
  if (one.is_compared && other.is_compared && error != others) return error < others;
  return result.arms[one.alternative].remedy.lines.size() <
         result.arms[other.alternative].remedy.lines.size();
}

}  // namespace

std::vector<const ArmOutcome*> as_fast_as(const StudyResult& result, const std::vector<ArmOutcome>& outcomes,
                                          const ArmOutcome& one) {
  std::vector<const ArmOutcome*> equals;
  for (const ArmOutcome& other : outcomes) {
    if (&other == &one || !is_faster(other)) continue;
    if (other.alternative == one.alternative) return {};  // of another operation
    if (!are_told_apart(one, other, result.record.margin)) equals.push_back(&other);
  }
  return equals;
}

const ArmOutcome* recommended_of(const StudyResult& result, const std::vector<ArmOutcome>& outcomes) {
  const ArmOutcome* fastest = fastest_of(outcomes, is_faster);
  if (fastest == nullptr) return nullptr;
  const ArmOutcome* best = fastest;
  for (const ArmOutcome* other : as_fast_as(result, outcomes, *fastest)) {
    const bool can_be_had = result.arms[other->alternative].is_remedy;
    if (can_be_had && is_better_of_equals(result, *other, *best)) best = other;
  }
  return best;
}

std::vector<ArmOutcome> right_outcomes(const StudyResult& result) {
  std::vector<ArmOutcome> outcomes = outcomes_without_bounds(result);
  std::erase_if(outcomes, [](const ArmOutcome& outcome) { return outcome.is_wrong; });
  return outcomes;
}

Sentences wrong_results(const StudyResult& result) {
  std::vector<std::string> names;
  Sentences sentences;
  for (const ArmOutcome& outcome : outcomes_without_bounds(result)) {
    if (outcome.is_wrong && std::ranges::find(names, outcome.name) == names.end()) {
      names.push_back(outcome.name);
      sentences.push_back(
          fmt::format("{} gives a wrong result{}, so its time does not count.", outcome.name,
                      outcome.error ? fmt::format(" (relative error {:.1e})", *outcome.error) : ""));
    }
  }
  return sentences;
}

std::string simulation_note(const DeviceDescription& device) {
  if (!device.capabilities.is_simulated) return {};
  return std::string("**This GPU is simulated**, so this study has no answer here. ") + kOnlyMoved;
}

std::string reference_hint(const ComparisonRecord& record) {
  bool lacks_one = false, any_compared = false;
  for (const Comparison& comparison : record.comparisons) {
    const Operation* operation = operation_of(comparison.first.subject);
    const auto* kernel = operation == nullptr ? nullptr : std::get_if<CudaKernel>(&operation->parameters());
    if (!comparison.failure.empty() || kernel == nullptr || !kernel->reference.empty()) continue;
    lacks_one = true;
    any_compared = any_compared || comparison.second.verification.has_value();
  }
  if (!lacks_one) return {};
  return (any_compared ? "Results were compared with those of " + record.alternatives.front() + " alone"
                       : std::string("No results were compared")) +
         "; name a kernel of the same file that computes the exact result, by reference=KERNEL.";
}

std::string remedy_sentence(const Remedy& remedy) {
  std::string text = remedy.lines.empty() ? "" : remedy.place + ':';
  for (const std::string& line : remedy.lines) text += "\n    " + line;
  if (!text.empty() && !remedy.price.empty()) text += '\n';
  return text + remedy.price;
}

bool runs_own_kernels(const Operation& operation) {
  const auto* chain = std::get_if<Chain>(&operation.parameters());
  if (chain == nullptr) return std::holds_alternative<CudaKernel>(operation.parameters());
  return std::ranges::all_of(chain->steps, runs_own_kernels);
}

const Remedy& remedy_of(const Arm& arm, const std::vector<Operation>& operations) {
  const bool of_kernels = !operations.empty() && std::ranges::all_of(operations, runs_own_kernels);
  return of_kernels && arm.kernel_remedy ? *arm.kernel_remedy : arm.remedy;
}

std::string remedy_sentence(const StudyResult& result, const Arm& arm) {
  std::vector<Operation> operations;
  for (const Comparison& comparison : result.record.comparisons) {
    if (const Operation* operation = operation_of(comparison.first.subject)) operations.push_back(*operation);
  }
  return remedy_sentence(remedy_of(arm, operations));
}

Sentences what_ran(const ComparisonRecord& record) {
  std::vector<std::string> ran;
  const auto add = [&](std::size_t alternative, const ComparedSide& side) {
    if (!side.algorithm.empty())
      ran.push_back(fmt::format("{}: {}", record.alternatives[alternative], side.algorithm));
  };
  std::size_t last = 0;
  for (const Comparison& comparison : record.comparisons) {
    if (!is_in_first_conditions(record, comparison)) continue;
    if (comparison.alternative <= last) return {};
    if (last == 0) add(0, comparison.first);
    last = comparison.alternative;
    add(last, comparison.second);
  }
  return ran.empty() ? ran : std::vector{joined(ran, "; ") + "."};
}

namespace {

// "As fast, not told apart from it: bf16, with a relative error of 2.1e-03."
std::string equals_sentence(const StudyResult& result, const std::vector<ArmOutcome>& outcomes,
                            const ArmOutcome& best) {
  std::vector<std::string> names;
  for (const ArmOutcome* other : as_fast_as(result, outcomes, best))
    names.push_back(other->name + error_clause(*other));
  if (names.empty()) return {};
  return fmt::format("As fast, not told apart from it: {}.", joined(names, "; "));
}

}  // namespace

Sentences answer_by_fastest(const StudyResult& result) {
  Sentences sentences;
  const std::vector<ArmOutcome> outcomes = right_outcomes(result);
  const std::string& first = result.record.alternatives.front();
  if (const ArmOutcome* best = recommended_of(result, outcomes)) {
    add(sentences, fastest_sentence(outcomes, *best, first));
    add(sentences, equals_sentence(result, outcomes, *best));
    add(sentences, remedy_sentence(result, result.arms[best->alternative]));
  } else if (outcomes.empty()) {
    add(sentences, fmt::format("Nothing was compared with {}.", first));
  } else if (any_undecided(outcomes)) {
    add(sentences,
        fmt::format(
            "**Nothing is shown to be faster than {}**, but not everything is decided: use more processes "
            "(--processes).",
            first));
  } else {
    add(sentences, fmt::format("**Nothing is faster than {}** by more than {}: leave it as it is.", first,
                               percent_text(result.record.margin)));
  }
  add(sentences, wrong_results(result));
  return sentences;
}

Sentences answer_of(const Study& study, const ComparisonRecord& record, std::span<const Arm> arms) {
  const StudyResult result{record, arms};
  Sentences answer;
  if (study.is_about_kernels) add(answer, simulation_note(record.device));
  if (answer.empty()) {
    answer = study.answer != nullptr ? study.answer(result) : answer_by_fastest(result);
    if (study.reasons != nullptr) {
      Sentences reasons = study.reasons(result);
      answer.insert(answer.begin() + 1, std::make_move_iterator(reasons.begin()),
                    std::make_move_iterator(reasons.end()));
    }
    if (study.details != nullptr) add(answer, study.details(result));
    if (study.shows_what_ran) add(answer, what_ran(record));
  }
  if (study.asks_for_reference) add(answer, reference_hint(record));
  return answer;
}

namespace {

double half_width(const Comparison& comparison) {
  const RatioEstimate& time = comparison.time;
  return (time.high - time.low) / 2.0 / time.ratio;
}

std::string name_of(const ComparisonRecord& record, const Comparison& comparison) {
  const bool is_only_subject = std::ranges::all_of(record.comparisons, [&](const Comparison& other) {
    return other.first.subject == comparison.first.subject;
  });
  const std::string& arm = record.alternatives[comparison.alternative];
  const Operation* operation = operation_of(comparison.first.subject);
  return is_only_subject || operation == nullptr ? arm : fmt::format("{} of {}", arm, operation->text());
}

// Says which differ more: processes from each other, or the rounds of one.
std::string reason(const Comparison& widest) {
  const std::string processes = percent_text(widest.between), rounds = percent_text(widest.within);
  if (widest.between > widest.within) {
    return fmt::format("processes differ by {} (standard deviation) more than their rounds explain",
                       processes);
  }
  return fmt::format(
      "within a process it is known to {} (standard deviation), and more time would narrow that (--time-limit)",
      rounds);
}

std::string remedy(const Comparison& widest) {
  if (widest.between <= widest.within) return {};
  statistics::Effect effect;
  effect.interval = {std::log(widest.time.low), std::log(widest.time.high)};
  effect.processes = widest.processes;
  const auto wanted = statistics::processes_within(effect, kExactEnough);
  if (!wanted) return {};
  return fmt::format("; about {} processes would reach ± {} (--processes)", *wanted,
                     percent_text(kExactEnough));
}

}  // namespace

std::string exactness_sentence(const ComparisonRecord& record) {
  std::vector<const Comparison*> known;
  for (const Comparison& comparison : record.comparisons) {
    if (has_time(comparison)) known.push_back(&comparison);
  }
  if (known.empty()) return {};
  const auto exact =
      std::ranges::count_if(known, [](const Comparison* one) { return half_width(*one) <= kExactEnough; });
  if (exact == std::ssize(known)) return {};
  const Comparison& widest =
      **std::ranges::max_element(known, {}, [](const Comparison* one) { return half_width(*one); });
  std::string text = known.size() == 1
                         ? fmt::format("Its ratio is known only to ± {}", percent_text(half_width(widest)))
                         : fmt::format("{} of {} ratios are known to ± {} or better, {} only to ± {}", exact,
                                       known.size(), percent_text(kExactEnough), name_of(record, widest),
                                       percent_text(half_width(widest)));
  return text + ": " + reason(widest) + remedy(widest) + '.';
}

}  // namespace jitterscope::study
