#include "study/advice.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/names.hpp"
#include "base/quantity_text.hpp"
#include "study/answers.hpp"

namespace jitterscope::study {
namespace {

using statistics::EffectVerdict;

// True if the whole interval lies beyond the margin, so that the gain is certain.
bool gains(const RatioEstimate& time, EffectVerdict verdict, double margin) {
  return verdict == EffectVerdict::faster && time.high <= 1.0 - margin;
}

bool saves_memory(const TriedRemedy& remedy, double margin) {
  return remedy.memory && *remedy.memory <= 1.0 - margin;
}

Trying outcome_of(const ArmOutcome& arm, const TriedRemedy& remedy, const AdviceLimits& limits) {
  if (arm.is_wrong) return Trying::wrong;
  if (arm.verdict == EffectVerdict::slower) return Trying::slower;
  const bool is_gain = limits.goal == Goal::memory ? saves_memory(remedy, limits.margin)
                                                   : gains(arm.time, arm.verdict, limits.margin);
  if (!is_gain) return Trying::no_gain;
  if (!arm.is_compared) return Trying::not_compared;
  if (arm.error && *arm.error > limits.tolerance) return Trying::too_inexact;
  return Trying::beaten;
}

// Returns the quantity that the goal reduces.
double amount(const TriedRemedy& remedy, Goal goal) {
  return goal == Goal::memory ? remedy.memory.value_or(1.0) : remedy.time.ratio;
}

void take_best(std::vector<TriedRemedy>& remedies, const AdviceLimits& limits) {
  TriedRemedy* best = nullptr;
  const auto is_better = [&](const TriedRemedy& one, const TriedRemedy& other) {
    const double own = amount(one, limits.goal), others = amount(other, limits.goal);
    const bool alike = own <= others * (1.0 + limits.margin) && others <= own * (1.0 + limits.margin);
    return alike ? one.error.value_or(0.0) < other.error.value_or(0.0) : own < others;
  };
  for (TriedRemedy& remedy : remedies) {
    if (remedy.outcome == Trying::beaten && (best == nullptr || is_better(remedy, *best))) best = &remedy;
  }
  if (best != nullptr) best->outcome = Trying::taken;
}

// Returns the outcome of all layers in a step's conditions; nullopt if the comparison was cut short.
std::optional<ArmOutcome> outcome_together(const std::optional<ComparisonRecord>& comparison) {
  const auto outcomes = comparison ? arm_outcomes(*comparison) : std::vector<ArmOutcome>();
  return outcomes.empty() ? std::nullopt : std::optional(outcomes.front());
}

std::string what_was_taken(const AdviceRecord& record) {
  std::vector<std::string> parts;
  for (const Recommendation& taken : record.recommendations) {
    parts.push_back(remedy_name(taken.study, taken.arm));
  }
  return joined(parts);
}

// Returns the distance from 1 to the next number of the type.
double spacing_of(DataType type) {
  switch (type) {
    case DataType::f64: return 0x1p-52;
    case DataType::f32: return 0x1p-23;
    case DataType::tf32:
    case DataType::f16: return 0x1p-10;
    case DataType::bf16: return 0x1p-7;
    case DataType::i32:
    case DataType::i64: break;
  }
  return 1.0;
}

// Returns " (3100 ulp of f32)", in the type of the original work.
std::string in_units_of_last_place(double error, const ComparisonRecord& together) {
  const Operation* operation = operation_of(together.comparisons.front().first.subject);
  if (operation == nullptr) return {};
  const double units = error / spacing_of(operation->dtype());
  return fmt::format(" ({:.{}f} ulp of {})", units, units < 10.0 ? 1 : 0, to_string(operation->dtype()));
}

// Returns the largest error of the taken remedies, each compared with the work at the start of its step.
std::optional<double> largest_error_of_steps(const AdviceRecord& record) {
  std::optional<double> largest;
  for (const AdviceStep& step : record.steps) {
    for (const TriedRemedy& remedy : step.remedies) {
      if (remedy.outcome == Trying::taken && remedy.error)
        largest = std::max(largest.value_or(0.0), *remedy.error);
    }
  }
  return largest;
}

// Says what a step measured, and over how much of the work.
std::string step_words(const AdviceRecord& record, const AdviceStep& step) {
  const auto taken = std::ranges::find(step.remedies, Trying::taken, &TriedRemedy::outcome);
  if (taken == step.remedies.end()) return {};
  const auto tried = std::ranges::count_if(record.layers, &AdvisedLayer::is_tried);
  return fmt::format(
      "{} is {}{}", remedy_name(taken->study, taken->arm), speed_against(taken->time, "before"),
      tried > 0 && tried < std::ssize(record.layers)
          ? fmt::format(" over the {} of {} operations that it was tried on", tried, record.layers.size())
          : "");
}

// Says only what was measured: each step beside the one before it, and no sum.
std::string steps_sentence(const AdviceRecord& record) {
  std::vector<std::string> steps;
  for (const AdviceStep& step : record.steps) {
    if (std::string words = step_words(record, step); !words.empty()) steps.push_back(std::move(words));
  }
  const auto tried = std::ranges::count_if(record.layers, &AdvisedLayer::is_tried);
  const bool is_part = tried > 0 && tried < std::ssize(record.layers);
  return fmt::format("**{}**; {} not measured.", joined(steps, "; then "),
                     steps.size() > 1 ? "all together was"
                     : is_part        ? "the whole work was"
                                      : "a load without pauses was");
}

// Returns "all 21 operations (53 calls)", "the 2 longest of 21 operations (6 of 53 calls)"; empty for one.
std::string part_words(const AdviceRecord& record, const ComparisonRecord& comparison) {
  const ComparedPart part = compared_part(record, comparison);
  if (part.of_operations < 2) return {};
  std::string text;
  if (part.is_whole()) {
    text = fmt::format("all {} operations", part.operations);
  } else {
    const char* const longest = part.are_longest ? " longest" : "";
    text =
        part.operations == 1
            ? fmt::format("{} of {} operations", part.are_longest ? "the longest" : "one", part.of_operations)
            : fmt::format("the {}{} of {} operations", part.operations, longest, part.of_operations);
  }
  if (part.of_calls == part.of_operations) return text;
  return text + (part.is_whole() ? fmt::format(" ({} calls)", part.of_calls)
                                 : fmt::format(" ({} of {} calls)", part.calls, part.of_calls));
}

// Says of what it speaks: under a sustained load only so many operations are measured as have time.
std::string sustained_sentence(const AdviceRecord& record, const RatioEstimate& time) {
  const std::string part = part_words(record, *record.sustained);
  const bool is_one = part.empty() || compared_part(record, *record.sustained).operations == 1;
  return fmt::format("Without pauses, where power limits the clock, {} {} {}.", part.empty() ? "it" : part,
                     is_one ? "is" : "are", speed_against(time, "before"));
}

std::string whole_sentence(const AdviceRecord& record) {
  const auto together = outcome_together(record.together);
  const std::string taken = what_was_taken(record);
  if (!together || is_unfinished(*record.together)) return steps_sentence(record);
  std::string text = fmt::format("**With {} it is {}**", taken, speed_against(together->time, "before"));
  const std::string part = part_words(record, *record.together);
  text += part.empty() ? ", measured side by side" : ", measured together over " + part;
  const std::optional<double> error = together->error ? together->error : largest_error_of_steps(record);
  if (error && *error > 0.0) {
    text +=
        fmt::format("; largest relative error of a result{} {:.1e}{}", together->error ? "" : " in its steps",
                    *error, in_units_of_last_place(*error, *record.together));
  }
  return text + '.';
}

std::string nothing_sentence(const AdviceRecord& record) {
  if (record.interrupted && record.steps.empty())
    return "**Not known yet**: it was interrupted before a remedy was tried.";
  if (record.interrupted || (!record.steps.empty() && is_unfinished(record.steps.back().comparison))) {
    return fmt::format(
        "**Not known yet**: {} step {}, whose remedies were not measured in as many processes as asked, so none "
        "is advised{}.",
        record.interrupted ? "it was interrupted in" : "the time was over in", record.steps.size(),
        record.interrupted ? "" : "; a longer --budget may tell");
  }
  const bool are_kernels =
      !record.layers.empty() && std::ranges::all_of(record.layers, [](const AdvisedLayer& layer) {
        const Operation* operation = operation_of(layer.subject);
        return operation != nullptr && std::holds_alternative<CudaKernel>(operation->parameters());
      });
  if (std::string note = simulation_note(record.device); are_kernels && !note.empty()) return note;
  std::size_t tried = 0;
  for (const AdviceStep& step : record.steps) tried += step.remedies.size();
  if (tried == 0) return "**No study applies to this work.**";
  return fmt::format("**Nothing that was tried gains more than {}**: leave it as it is.",
                     percent_text(record.margin));
}

// Names the remedy with the greatest gain among those refused only for their error, since a user may allow
// it.
std::optional<std::string> inexact_sentence(const AdviceRecord& record) {
  if (record.steps.empty()) return std::nullopt;
  const std::vector<TriedRemedy>& last = record.steps.back().remedies;
  const auto inexact = std::ranges::find(last, Trying::too_inexact, &TriedRemedy::outcome);
  if (inexact == last.end()) return std::nullopt;
  return fmt::format("{} is {}, and its error of {:.1e} is above the {} that is allowed (--tolerance).",
                     remedy_name(inexact->study, inexact->arm), speed_against(inexact->time, "before"),
                     inexact->error.value_or(0.0), percent_text(record.tolerance));
}

// Names the remedy with the greatest gain among those refused because their result was not compared.
std::optional<std::string> not_compared_sentence(const AdviceRecord& record) {
  if (record.steps.empty()) return std::nullopt;
  const AdviceStep& step = record.steps.back();
  const auto found = std::ranges::find(step.remedies, Trying::not_compared, &TriedRemedy::outcome);
  if (found == step.remedies.end()) return std::nullopt;
  std::string text = fmt::format("{} is {}, but its result was not compared, so it is not taken",
                                 remedy_name(found->study, found->arm), speed_against(found->time, "before"));
  if (record.device.capabilities.is_simulated) return text + ": a simulated GPU runs no kernel.";
  return text + ": compare it yourself.";
}

}  // namespace

std::string remedy_name(const std::string& study, const std::string& arm) {
  return study == arm ? study : study + ' ' + arm;
}

std::string_view to_string(Goal goal) {
  switch (goal) {
    case Goal::latency: return "latency";
    case Goal::throughput: return "throughput";
    case Goal::memory: return "memory";
  }
  return "";
}

std::string_view to_string(Trying outcome) {
  switch (outcome) {
    case Trying::taken: return "taken";
    case Trying::beaten: return "beaten";
    case Trying::no_gain: return "no gain";
    case Trying::slower: return "slower";
    case Trying::too_inexact: return "too inexact";
    case Trying::wrong: return "wrong";
    case Trying::not_compared: return "not compared";
    case Trying::failed: return "failed";
    case Trying::unfinished: return "unfinished";
  }
  return "";
}

std::vector<TriedRemedy> judge(const ComparisonRecord& comparison, const std::vector<Candidate>& candidates,
                               const AdviceLimits& limits) {
  const std::vector<ArmOutcome> outcomes = arm_outcomes(comparison);
  std::vector<TriedRemedy> remedies;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    TriedRemedy remedy{.study = candidates[i].study, .arm = candidates[i].arm};
    remedy.memory = candidates[i].memory;
    const auto arm = std::ranges::find(outcomes, i + 1, &ArmOutcome::alternative);
    if (arm == outcomes.end()) {
      remedy.outcome = Trying::failed;
      const auto failed = std::ranges::find_if(comparison.comparisons, [&](const Comparison& each) {
        return each.alternative == i + 1 && !each.failure.empty();
      });
      const char* const without = comparison.interrupted ? "interrupted before it had a time" : "no time";
      remedy.failure = failed == comparison.comparisons.end() ? without : failed->failure;
    } else {
      remedy.time = arm->time;
      remedy.error = arm->error;
      remedy.outcome = outcome_of(*arm, remedy, limits);
      if (remedy.outcome == Trying::beaten && is_unfinished(comparison)) remedy.outcome = Trying::unfinished;
    }
    remedies.push_back(std::move(remedy));
  }
  std::ranges::stable_sort(remedies, [&](const TriedRemedy& one, const TriedRemedy& other) {
    const bool has_failed = one.outcome == Trying::failed, other_has = other.outcome == Trying::failed;
    if (has_failed != other_has) return other_has;
    return amount(one, limits.goal) < amount(other, limits.goal);
  });
  take_best(remedies, limits);
  return remedies;
}

bool is_unfinished(const ComparisonRecord& comparison) {
  if (comparison.interrupted) return true;
  std::int64_t processes = 0;
  for (const Comparison& each : comparison.comparisons) processes = std::max(processes, each.processes);
  return comparison.processes_asked > 1 && processes == 1;
}

const TriedRemedy* add_step(AdviceRecord& record, ComparisonRecord comparison,
                            const std::vector<Candidate>& candidates) {
  AdviceStep& step = record.steps.emplace_back();
  step.comparison = std::move(comparison);
  step.remedies = judge(step.comparison, candidates,
                        {.goal = record.goal, .margin = record.margin, .tolerance = record.tolerance});
  const auto taken = std::ranges::find(step.remedies, Trying::taken, &TriedRemedy::outcome);
  return taken == step.remedies.end() ? nullptr : &*taken;
}

void choose_layers(std::vector<AdvisedLayer>& layers, double share, std::size_t most) {
  const auto total_of = [](const AdvisedLayer& layer) {
    return layer.time.median.value() * static_cast<double>(layer.count);
  };
  double all = 0.0;
  for (const AdvisedLayer& layer : layers) all += total_of(layer);
  std::ranges::stable_sort(layers, std::greater(), total_of);
  double held = 0.0;
  std::size_t tried = 0;
  for (AdvisedLayer& layer : layers) {
    layer.share = all > 0.0 ? total_of(layer) / all : 0.0;
    layer.is_tried = tried < most && held < share && layer.share > 0.0;
    if (!layer.is_tried) continue;
    held += layer.share;
    ++tried;
  }
}

std::optional<Nanoseconds> time_together(const ComparisonRecord& comparison, std::size_t alternative) {
  const double work = work_of(comparison, alternative);
  for (const TotalComparison& total : comparison.totals) {
    if (alternative == 0) return total.first.median;
    if (total.alternative == alternative) return total.second.median / work;
  }
  if (!comparison.totals.empty()) return std::nullopt;
  for (const Comparison& each : comparison.comparisons) {
    if (!each.failure.empty()) continue;
    if (alternative == 0) return each.first.time.median;
    if (each.alternative == alternative) return each.second.time.median / work;
  }
  return std::nullopt;
}

std::optional<RatioEstimate> ratio_together(const ComparisonRecord& comparison) {
  const auto outcome = outcome_together(comparison);
  return outcome ? std::optional(outcome->time) : std::nullopt;
}

ComparedPart compared_part(const AdviceRecord& record, const ComparisonRecord& comparison) {
  ComparedPart part;
  bool is_any_left_out = false;
  for (const AdvisedLayer& layer : record.layers) {
    const bool has_time = std::ranges::any_of(comparison.comparisons, [&](const Comparison& each) {
      return each.failure.empty() && to_string(each.first.subject) == to_string(layer.subject);
    });
    ++part.of_operations;
    add_calls(part.of_calls, layer.count);
    if (has_time) {
      ++part.operations;
      add_calls(part.calls, layer.count);
      part.are_longest = part.are_longest && !is_any_left_out;
    }
    is_any_left_out = is_any_left_out || !has_time;
  }
  return part;
}

std::size_t alternative_of(const AdviceStep& step, const TriedRemedy& remedy) {
  const std::vector<std::string>& names = step.comparison.alternatives;
  const auto found = std::ranges::find(names, remedy_name(remedy.study, remedy.arm));
  return static_cast<std::size_t>(found - names.begin());
}

namespace {

// The same work takes the same time in the first step and beside the sum, unless the machine has changed: by
// 50 % within 20 s where a virtual machine's host was the limit. Not for several layers, since steps try only
// some of them and the sum has all.
std::optional<std::string> unsteady_sentence(const AdviceRecord& record) {
  constexpr double kSteady = 0.05;
  if (record.layers.size() > 1 || record.steps.empty() || !record.together) return std::nullopt;
  const auto first = time_together(record.steps.front().comparison, 0);
  const auto last = time_together(*record.together, 0);
  if (!first || !last) return std::nullopt;
  const double change = std::max(*first / *last, *last / *first) - 1.0;
  if (change <= kSteady) return std::nullopt;
  return fmt::format(
      "The unchanged work took {} at first and {} at the end ({}): the machine changed meanwhile, which "
      "the intervals do not include. Other programs may slow the host; try again when the machine is "
      "quieter.",
      time_text(*first), time_text(*last), change_text(change));
}

}  // namespace

std::vector<std::string> conclusions_of(const AdviceRecord& record) {
  std::vector<std::string> sentences;
  if (record.recommendations.empty()) {
    sentences.push_back(nothing_sentence(record));
  } else {
    sentences.push_back(whole_sentence(record));
  }
  if (record.interrupted && !record.recommendations.empty()) {
    sentences.push_back(
        record.together && !is_unfinished(*record.together)
            ? "Interrupted: a load without pauses, where power limits the clock, was not measured."
        : record.together ? "Interrupted while what was taken was measured together."
        : is_unfinished(record.steps.back().comparison)
            ? fmt::format("Interrupted in step {}: what its remedies would add is not known.",
                          record.steps.size())
            : "Interrupted: what further remedies would add is not known.");
  }
  const auto sustained = outcome_together(record.sustained);
  if (sustained && !is_unfinished(*record.sustained)) {
    sentences.push_back(sustained_sentence(record, sustained->time));
  }
  if (auto unsteady = unsteady_sentence(record)) sentences.push_back(std::move(*unsteady));
  if (auto inexact = inexact_sentence(record)) sentences.push_back(std::move(*inexact));
  if (auto unknown = not_compared_sentence(record)) sentences.push_back(std::move(*unknown));
  return sentences;
}

}  // namespace jitterscope::study
