#include "study/exactness.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/quantity_text.hpp"
#include "statistics/effect.hpp"
#include "study/answers.hpp"

namespace jitterscope::study {
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

// What differs more: processes from each other, or the rounds of one.
std::string reason(const Comparison& widest) {
  const std::string processes = percent_text(widest.between), rounds = percent_text(widest.within);
  if (widest.between > widest.within) {
    return fmt::format("processes differ by {} (standard deviation) beyond what their rounds explain",
                       processes);
  }
  return fmt::format(
      "the rounds of a process know it to {} (standard deviation), and more time would narrow that "
      "(--time-limit)",
      rounds);
}

std::string remedy(const Comparison& widest) {
  if (widest.between <= widest.within) return {};
  statistics::Effect effect;
  effect.interval = {std::log(widest.time.low), std::log(widest.time.high)};
  effect.processes = widest.processes;
  const auto wanted = statistics::processes_within(effect, kExactEnough);
  if (!wanted) return {};
  return fmt::format("; about {} processes would know it to ± {} (--processes)", *wanted,
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
                         ? fmt::format("Its ratio is known to ± {} only", percent_text(half_width(widest)))
                         : fmt::format("{} of {} ratios are known to ± {} or better, {} to ± {} only", exact,
                                       known.size(), percent_text(kExactEnough), name_of(record, widest),
                                       percent_text(half_width(widest)));
  return text + ": " + reason(widest) + remedy(widest) + '.';
}

}  // namespace jitterscope::study
