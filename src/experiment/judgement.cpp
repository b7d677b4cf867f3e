#include "experiment/judgement.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "experiment/kept_rounds.hpp"
#include "experiment/processes.hpp"

namespace jitterscope {
namespace {

using statistics::Effect;

// Of a comparison or a total.
template <class Compared>
void set_verdict(Compared& compared, const Effect& effect, double margin, bool is_shown) {
  compared.verdict = statistics::verdict_on(effect, margin, is_shown);
  if (compared.verdict == statistics::EffectVerdict::undecided) {
    compared.processes_to_decide = statistics::processes_to_decide(effect, margin);
  }
}

}  // namespace

ComparedSide side_of(const Result& result, const Measurement& measurement) {
  const ProcessTime own = process_time(measurement);
  return {.subject = result.subject,
          .provider = result.provider,
          .algorithm = result.algorithm,
          .held_memory = result.held_memory,
          .conditions = measurement.conditions,
          .instrument = measurement.instrument,
          .time = measurement.time,
          .rounds = settled_times(measurement),
          .clock = own.clock,
          .cycles = own.cycles,
          .verification = result.verification,
          .amount = {}};
}

RatioEstimate ratio_of(const Effect& effect) {
  return {std::exp(effect.value), std::exp(effect.interval.low), std::exp(effect.interval.high)};
}

void add_times(TimeEstimate& sum, const TimeEstimate& time, std::int64_t count) {
  const auto times = static_cast<double>(count);
  const bool is_first = sum.rounds == 0;
  sum.median += time.median * times;
  sum.low += time.low * times;
  sum.high += time.high * times;
  sum.rounds = is_first ? time.rounds : std::min(sum.rounds, time.rounds);
}

void judge(std::span<Comparison> comparisons, std::span<const std::optional<Effect>> effects, double margin) {
  // The time of a wrong result is neither faster nor slower than that of a right one.
  const auto counts = [&](std::size_t i) { return effects[i].has_value() && !is_wrong(comparisons[i]); };
  std::vector<double> p_values;
  for (std::size_t i = 0; i < effects.size(); ++i) {
    if (counts(i)) p_values.push_back(effects[i]->p_value);
  }
  const std::vector<bool> shown = statistics::holm_rejects(p_values);
  std::size_t next = 0;
  for (std::size_t i = 0; i < effects.size(); ++i) {
    if (counts(i)) set_verdict(comparisons[i], *effects[i], margin, shown[next++]);
  }
}

void judge(TotalComparison& total, const Effect& effect, double margin) {
  total.time = ratio_of(effect);
  total.processes = effect.processes;
  total.p_value = effect.p_value;
  set_verdict(total, effect, margin, effect.excludes_zero());
}

}  // namespace jitterscope
