#include "explain/conclusions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

#include "base/names.hpp"
#include "base/quantity_text.hpp"
#include "explain/how_causes_act.hpp"
#include "explain/processes.hpp"
#include "measure/estimate.hpp"

namespace jitterscope::explain {
namespace {

std::string amount_text(double change) { return change_text(std::abs(change)).substr(1); }  // without a sign

// Returns "8.3 % longer" and "than"; from a factor of two on "4.2 times as long" and "as", as everywhere.
std::pair<std::string, std::string_view> longer_words(double ratio) {
  constexpr double kFactor = 2.0;
  if (ratio >= kFactor || ratio <= 1.0 / kFactor) return {time_change_text(ratio - 1.0), "as"};
  return {fmt::format("{} {}", amount_text(ratio - 1.0), ratio < 1.0 ? "less time" : "longer"), "than"};
}

// Returns "a launch takes 8.3 % longer with 400 ms idle than with 10 ms idle".
std::string effect_words(const FactorResult& factor) {
  const DoseEffect& dose = factor.doses[factor.strongest];
  const auto [longer, than] = longer_words(dose.time.ratio);
  return fmt::format("a launch takes {} with {} {} with {}", longer, dose.dose, than, factor.usual);
}

// Tells whether the clock moves with the time, which is then how the factor acts.
std::string clock_words(const DoseEffect& dose) {
  if (!dose.clock) return {};
  const double change = dose.clock->ratio - 1.0;
  if (std::abs(change) <= kMaterial) return "; the clock stays";
  return fmt::format("; the clock is {} {}", amount_text(change), change < 0.0 ? "lower" : "higher");
}

std::string cause_sentence(const FactorResult& factor) {
  const DoseEffect& dose = factor.doses[factor.strongest];
  std::string counted = counter_words(factor.counters);
  if (!counted.empty()) counted = "; a launch " + counted;
  std::string held = factor.held_clock ? held_words(*factor.held_clock) : "";
  if (!held.empty()) held = "; " + held;
  const std::string rested = factor.at_low_duty ? "; " + low_duty_words(dose.time, *factor.at_low_duty) : "";
  return fmt::format("{}: {}{}{}{}{}. {}", capitalised(factor.cause), effect_words(factor), clock_words(dose),
                     held, rested, counted, factor.remedy);
}

// True if no more blocks are asked for and the interval lies beyond ± 0.5 %: something else speaks against
// it.
bool moves_without_being_a_cause(const FactorResult& factor) {
  if (factor.verdict != FactorVerdict::unresolved || factor.blocks_to_decide || factor.doses.empty())
    return false;
  const RatioEstimate& time = factor.doses[factor.strongest].time;
  return time.low > 1.0 + kMaterial || time.high < 1.0 - kMaterial;
}

std::string sentence_without_a_cause(const FactorResult& factor) {
  return fmt::format("{}: {}, but {}, so it is not called a cause.", capitalised(factor.cause),
                     effect_words(factor), factor.reason);
}

bool is_explained(const VariationShare& share) {
  return share.variation != Variation::loop && share.variation != Variation::rest;
}

std::string drift_sentence(double change) {
  const auto [longer, than] = longer_words(1.0 + change);
  return fmt::format(
      "The work becomes {} as it goes on: a launch takes {} in the last third of the plain loops {} in the first. {}.",
      change < 0.0 ? "faster" : "slower", longer, than,
      change < 0.0
          ? "Let it run for longer before it is timed"
          : "Look for what grows from call to call (memory, a list, a log), and for heat, which lowers the clock");
}

std::string variation_sentence(const Observation& observation) {
  const VariationShare* largest = nullptr;
  double between_loops = 0.0, rest = 0.0;
  for (const VariationShare& share : observation.shares) {
    if (share.variation == Variation::loop) between_loops += share.share;
    if (share.variation == Variation::rest) rest += share.share;
    if (is_explained(share) && (largest == nullptr || share.share > largest->share)) largest = &share;
  }
  if (largest == nullptr || !(observation.between_stretches > 0.0)) return {};
  const std::string vary = fmt::format(
      "In loops, each after a rest, the time varies by {} (standard deviation of the medians of launches 1, 2–3, 4–7, …)",
      percent_text(observation.between_stretches));
  const double unexplained = between_loops + rest;
  if (largest->share < unexplained) {
    const std::string how_much = unexplained > 0.5
                                     ? fmt::format("most of that variance ({})", percent_text(unexplained))
                                     : percent_text(unexplained) + " of that variance";
    return fmt::format(
        "{}; {} goes with nothing that was seen beside them: {} of it differs from loop to loop, {} within loops.",
        vary, how_much, percent_text(between_loops), percent_text(rest));
  }
  return fmt::format("{}, mostly with {}: it accounts for {} of that variance, and {} is unexplained.", vary,
                     words_for(largest->variation), percent_text(largest->share), percent_text(unexplained));
}

std::string spread_sentence(const RandomFactor& factor) {
  if (!factor.not_available.empty() || factor.low <= 0.0) return {};
  return fmt::format(
      "{} moves the time by {} (standard deviation, 95 %: {} to {}), which no single run shows.",
      capitalised(factor.cause), percent_text(factor.deviation), percent_text(factor.low),
      percent_text(factor.high));
}

std::string names_of(const Explanation& explanation, FactorVerdict verdict, std::string_view separator) {
  std::vector<std::string> names;
  for (const FactorResult& factor : explanation.factors) {
    if (factor.verdict == verdict) names.push_back(factor.id);
  }
  return joined(names, separator);
}

}  // namespace

std::vector<std::string> conclusions_of(const Explanation& explanation) {
  std::vector<std::string> sentences;
  // The program's own variation comes first, then what each factor changes when it is switched.
  if (explanation.observation.recurrence) {
    sentences.push_back(fmt::format("The work itself varies from call to call: {}, {} on average.",
                                    recurrence_text(*explanation.observation.recurrence),
                                    time_text(mean_of(*explanation.observation.recurrence), 0.001)));
  }
  if (explanation.observation.drift) sentences.push_back(drift_sentence(*explanation.observation.drift));
  sentences.push_back(variation_sentence(explanation.observation));
  bool has_cause = false;
  for (const FactorResult& factor : explanation.factors) {
    if (factor.verdict != FactorVerdict::cause) continue;
    sentences.push_back(cause_sentence(factor));
    has_cause = true;
  }
  if (!has_cause && explanation.blocks > 0) {
    sentences.push_back(
        fmt::format("Nothing that was switched here is shown to move the time by more than {}.",
                    percent_text(kMaterial)));
  }
  for (const FactorResult& factor : explanation.factors) {
    if (moves_without_being_a_cause(factor)) sentences.push_back(sentence_without_a_cause(factor));
  }
  sentences.push_back(sentence_of(explanation.others, explanation.observation));
  for (const RandomFactor& factor : explanation.random_factors) sentences.push_back(spread_sentence(factor));
  for (const FactorResult& factor : explanation.factors) {
    if (factor.not_told_from.empty() || factor.verdict != FactorVerdict::cause) continue;
    sentences.push_back(fmt::format("So short a study cannot tell by which of these {} acts: {}.", factor.id,
                                    joined(factor.not_told_from)));
  }
  const std::string open = names_of(explanation, FactorVerdict::unresolved, ", ");
  if (!open.empty() && explanation.blocks > 0)
    sentences.push_back(
        fmt::format("Neither shown to be a cause nor cleared: {}; more time would tell (--max-time).", open));
  const std::string left_out = names_of(explanation, FactorVerdict::left_out, ",");
  if (!left_out.empty()) {
    sentences.push_back(fmt::format(
        "Not tried, for want of time: {}. `--factors {}` tries nothing else, and --max-time gives time for all.",
        names_of(explanation, FactorVerdict::left_out, ", "), left_out));
  }
  std::erase(sentences, std::string());
  return sentences;
}

}  // namespace jitterscope::explain
