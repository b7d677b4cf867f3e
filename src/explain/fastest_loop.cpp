#include "explain/fastest_loop.hpp"

#include <algorithm>

#include "explain/verdicts.hpp"

namespace jitterscope::explain {
namespace {

// The dose of a cause that is shown to make the loop faster, most of all; null for none.
const DoseEffect* fastest_dose(const FactorResult& result) {
  if (result.verdict != FactorVerdict::cause) return nullptr;
  const auto fastest =
      std::ranges::min_element(result.doses, {}, [](const DoseEffect& dose) { return dose.time.ratio; });
  const bool is_faster = fastest != result.doses.end() && fastest->time.high < 1.0;
  return is_faster ? &*fastest : nullptr;
}

}  // namespace

std::optional<TimeEstimate> plain_level(const PairedEffects& paired) {
  const std::optional<RatioEstimate> level = ratio_of_blocks(paired.log_plain);
  if (!level) return std::nullopt;
  return TimeEstimate{Nanoseconds(level->ratio), Nanoseconds(level->low), Nanoseconds(level->high),
                      std::ssize(paired.log_plain)};
}

std::optional<FastestLoop> find_fastest_loop(TreatedLoop& bench, const FactorList& factors,
                                             const std::vector<FactorResult>& results, Nanoseconds time,
                                             Random& random, const ExperimentListeners& listeners) {
  FastestLoop found;
  std::vector<const Dose*> doses;
  for (std::size_t i = 0; i < factors.size(); ++i) {
    const DoseEffect* fastest = fastest_dose(results[i]);
    if (fastest == nullptr) continue;
    const auto dose = std::ranges::find(factors[i]->doses, fastest->dose, &Dose::text);
    doses.push_back(&*dose);
    found.parts.push_back({factors[i]->id, fastest->dose});
    found.time = fastest->time;
    found.blocks = fastest->blocks;
  }
  if (doses.size() < 2) return doses.empty() ? std::nullopt : std::optional(found);
  const Factor together{.doses = {{"all at once", [&](Treatment& treatment) {
                                     for (const Dose* dose : doses) dose->apply(treatment);
                                   }}}};
  const ExperimentListeners own{listeners.stop, [&](const std::string&, double share) {
                                  listeners.progress("what makes it faster, all at once", share);
                                }};
  PairedEffects paired;
  try {
    paired = confirm(bench, {&together}, time, random, own);
  } catch (const GateTimeoutError&) {  // each alone left the gate in time
    return std::nullopt;
  }
  if (paired.doses.empty()) return std::nullopt;
  const std::optional<RatioEstimate> ratio = ratio_of_blocks(paired.doses.front().log_times);
  if (!ratio) return std::nullopt;
  found.time = *ratio;
  found.blocks = paired.blocks;
  return found;
}

}  // namespace jitterscope::explain
