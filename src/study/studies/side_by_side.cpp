#include "study/studies/side_by_side.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/names.hpp"
#include "study/answers.hpp"

namespace jitterscope::study::studies {
namespace {

// The end of one kernel beside the start of the next is not yet side by side.
constexpr double kSideBySide = 1.1;

double mean_of_arm(const TracedArm& arm) { return arm.at_once.mean_at_once; }

double most_of(const SpreadOutcome& outcome) {
  return outcome.traced.empty() ? 0.0 : mean_of_arm(std::ranges::max(outcome.traced, {}, mean_of_arm));
}

bool ran_side_by_side(const SpreadOutcome& outcome) { return most_of(outcome) >= kSideBySide; }

bool gains_nothing(const SpreadOutcome& outcome) { return !outcome.is_faster && !outcome.is_undecided; }

// Of a network there may be hundreds.
std::string few_of(const std::vector<std::string>& all, const char* separator) {
  constexpr std::size_t kFew = 4;
  std::vector<std::string> few(all.begin(),
                               all.begin() + static_cast<std::ptrdiff_t>(std::min(all.size(), kFew)));
  if (all.size() > kFew) few.push_back(fmt::format("and {} more", all.size() - kFew));
  return joined(few, separator);
}

std::vector<std::string> names_of(const std::vector<SpreadOutcome>& outcomes) {
  std::vector<std::string> names;
  for (const SpreadOutcome& outcome : outcomes) names.push_back(outcome.name);
  return names;
}

std::vector<SpreadOutcome> chosen(const std::vector<SpreadOutcome>& outcomes, const auto& is_chosen) {
  std::vector<SpreadOutcome> found;
  std::ranges::copy_if(outcomes, std::back_inserter(found), is_chosen);
  return found;
}

// " of A, B" where the sentence is not about all that was asked of.
std::string of_which(const std::vector<SpreadOutcome>& some, std::size_t all) {
  return all == 1 || some.size() == all ? std::string() : " of " + few_of(names_of(some), ", ");
}

// Every arm of the one operation that there is.
std::string arms_sentence(const SpreadOutcome& outcome) {
  std::string text;
  for (const TracedArm& arm : outcome.traced) {
    text += text.empty() ? fmt::format("By the trace, {} ran {:.1f} kernels side by side (at most {})",
                                       arm.arm, arm.at_once.mean_at_once, arm.at_once.most_at_once)
                         : fmt::format("; {} {:.1f} ({})", arm.arm, arm.at_once.mean_at_once,
                                       arm.at_once.most_at_once);
  }
  return text + '.';
}

// Of each operation the fastest arm, or the one with most at once where none is faster.
std::string operations_sentence(const std::vector<SpreadOutcome>& outcomes) {
  std::vector<std::string> each;
  for (const SpreadOutcome& outcome : outcomes) {
    const TracedArm& arm = outcome.is_faster ? std::ranges::min(outcome.traced, {}, &TracedArm::time_ratio)
                                             : std::ranges::max(outcome.traced, {}, mean_of_arm);
    each.push_back(fmt::format("{} {:.1f} at once with {} (at most {})", outcome.name,
                               arm.at_once.mean_at_once, arm.arm, arm.at_once.most_at_once));
  }
  return "By the trace, kernels ran side by side: " + few_of(each, "; ") + '.';
}

std::string apart_sentence(const std::vector<SpreadOutcome>& apart, std::size_t all) {
  std::int64_t streams = 1;
  double mean = 1.0;
  for (const SpreadOutcome& outcome : apart) {
    mean = std::max(mean, most_of(outcome));
    for (const TracedArm& arm : outcome.traced) streams = std::max(streams, arm.at_once.streams);
  }
  if (streams == 1)
    return fmt::format("By the trace, all kernels{} were on one stream.", of_which(apart, all));
  std::string why;
  if (std::ranges::all_of(apart, &SpreadOutcome::is_faster)) {
    why = ": what is gained lies between the kernels";
  } else if (std::ranges::all_of(apart, gains_nothing)) {
    why = ": a kernel leaves no room beside it, or ends before the next one starts";
  }
  return fmt::format(
      "By the trace, kernels{} did not run side by side, although they were on up to {} streams ({:.1f} at "
      "once){}.",
      of_which(apart, all), streams, mean, why);
}

}  // namespace

std::vector<SpreadOutcome> spread_outcomes(const ComparisonRecord& record) {
  std::vector<SpreadOutcome> outcomes;
  for (const Comparison& comparison : record.comparisons) {
    const Operation* operation = operation_of(comparison.first.subject);
    if (operation == nullptr || !has_time(comparison)) continue;
    const auto* chain = std::get_if<Chain>(&operation->parameters());
    if (chain == nullptr) continue;
    const std::string name = chain->steps.front().text();
    if (std::ranges::find(outcomes, name, &SpreadOutcome::name) == outcomes.end()) {
      outcomes.emplace_back().name = name;
    }
    SpreadOutcome& outcome = *std::ranges::find(outcomes, name, &SpreadOutcome::name);
    using statistics::EffectVerdict;
    outcome.is_faster = outcome.is_faster || comparison.verdict == EffectVerdict::faster;
    outcome.is_undecided = outcome.is_undecided || comparison.verdict == EffectVerdict::undecided;
    const std::string& arm = record.alternatives[comparison.alternative];
    const ComparedSide& side = comparison.second;
    // Under further conditions it is the same trace.
    const bool is_new = std::ranges::find(outcome.traced, arm, &TracedArm::arm) == outcome.traced.end();
    if (side.concurrency && is_new) outcome.traced.push_back({arm, comparison.time.ratio, *side.concurrency});
    if (side.without_kernels) outcome.not_traced = side.without_kernels->reason;
  }
  return outcomes;
}

std::vector<std::string> side_by_side_sentences(const std::vector<SpreadOutcome>& outcomes) {
  const std::vector<SpreadOutcome> together = chosen(outcomes, ran_side_by_side);
  const std::vector<SpreadOutcome> in_vain = chosen(together, gains_nothing);
  const std::vector<SpreadOutcome> apart = chosen(outcomes, [](const SpreadOutcome& outcome) {
    return !outcome.traced.empty() && !ran_side_by_side(outcome);
  });
  const std::vector<SpreadOutcome> unknown = chosen(outcomes, [](const SpreadOutcome& outcome) {
    return outcome.traced.empty() && !outcome.not_traced.empty();
  });
  std::vector<std::string> sentences;
  if (!together.empty())
    sentences.push_back(outcomes.size() == 1 ? arms_sentence(together.front())
                                             : operations_sentence(together));
  if (!in_vain.empty()) {
    sentences.push_back(fmt::format(
        "Kernels{} ran side by side and yet gained nothing: what they share, such as memory, is the limit.",
        of_which(in_vain, outcomes.size())));
  }
  if (!apart.empty()) sentences.push_back(apart_sentence(apart, outcomes.size()));
  if (!unknown.empty()) {
    sentences.push_back(
        fmt::format("Whether kernels{} ran side by side is not known, as they could not be traced: {}.",
                    of_which(unknown, outcomes.size()), unknown.front().not_traced));
  }
  return sentences;
}

}  // namespace jitterscope::study::studies
