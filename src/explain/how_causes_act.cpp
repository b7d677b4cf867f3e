#include "explain/how_causes_act.hpp"

#include <cmath>
#include <optional>

#include "explain/counted_launches.hpp"
#include "explain/held_clock.hpp"
#include "explain/low_duty.hpp"

namespace jitterscope::explain {
namespace {

bool moves_clock(const FactorResult& factor) {
  const std::optional<RatioEstimate>& clock = factor.doses[factor.strongest].clock;
  return clock && std::abs(clock->ratio - 1.0) > kMaterial;
}

// To open: a CPU has none, and says so at once; a simulated one costs nothing.
bool profiler_takes_seconds(TreatedLoop& bench) {
  const DeviceCapabilities can = bench.session().device().describe().capabilities;
  return !can.is_host && !can.is_simulated;
}

}  // namespace

void find_what_held_the_clock(const JudgedFactors& judged) {
  for (std::size_t i = 0; i < judged.factors.size() && !judged.is_interrupted(); ++i) {
    FactorResult& factor = judged.results[i];
    if (factor.verdict != FactorVerdict::cause || !moves_clock(factor)) continue;
    const Treatment treatment = treatment_of(*judged.factors[i], judged.doses[i]);
    if (treatment.idle > Treatment().idle) continue;  // a clock that sleeps is held by nothing
    try {
      factor.held_clock =
          find_held_clock(judged.bench, treatment, factor.doses[factor.strongest].clock->ratio);
    } catch (const NeighbourLostError&) {  // its effect was found out before
      continue;
    }
    if (factor.held_clock && tells_power_from_heat(*factor.held_clock)) factor.not_told_from.clear();
  }
}

void let_causes_rest(const JudgedFactors& judged, Nanoseconds time_of_each, Random& random,
                     const ExperimentListeners& listeners) {
  for (std::size_t i = 0; i < judged.factors.size() && !judged.is_interrupted(); ++i) {
    if (low_duty_time(judged.bench) > judged.time_left()) return;
    FactorResult& factor = judged.results[i];
    if (!judged.factors[i]->may_be_power || factor.verdict != FactorVerdict::cause) continue;
    const Treatment treatment = treatment_of(*judged.factors[i], judged.doses[i]);
    factor.at_low_duty = effect_at_low_duty(judged.bench, treatment, time_of_each, random, listeners);
  }
}

std::string count_causes(const JudgedFactors& judged) {
  std::optional<LaunchCounting> counting;
  for (std::size_t i = 0; i < judged.factors.size() && !judged.is_interrupted(); ++i) {
    FactorResult& factor = judged.results[i];
    if (!judged.factors[i]->shows_in_counters || factor.verdict != FactorVerdict::cause) continue;
    const Treatment treatment = treatment_of(*judged.factors[i], judged.doses[i]);
    if (profiler_takes_seconds(judged.bench) && judged.time_left() < Nanoseconds(0))
      return "the time was over before they were read; --max-time gives more";
    try {
      if (!counting) counting.emplace(judged.bench);
      factor.counters = counting->compare(treatment);
    } catch (const Error& error) {
      return error.what();
    }
  }
  return {};
}

}  // namespace jitterscope::explain
