#include <algorithm>
#include <cmath>
#include <numeric>

#include "explain/conditioning.hpp"
#include "explain/experiments.hpp"
#include "statistics/two_level_design.hpp"

namespace jitterscope::explain {
namespace {

RatioEstimate ratio_of_logarithms(const statistics::MainEffect& effect) {
  return {std::exp(effect.value), std::exp(effect.interval.low), std::exp(effect.interval.high)};
}

Treatment row_treatment(const std::vector<bool>& row, const FactorList& factors) {
  Treatment treatment;
  for (std::size_t i = 0; i < factors.size(); ++i) {
    if (row[i]) factors[i]->doses.back().apply(treatment);
  }
  return treatment;
}

// Each factor was rehearsed alone; together, evictions and copies may fill the queue behind a gate, and an
// engine that is named may need other addresses than those given.
std::optional<LoopReading> reading_of(TreatedLoop& bench, const Treatment& treatment) {
  try {
    return bench.run(treatment);
  } catch (const GateTimeoutError&) {
    return std::nullopt;
  } catch (const UsageError&) {
    return std::nullopt;
  }
}

}  // namespace

std::optional<ScreenedEffects> screen(TreatedLoop& bench, const FactorList& factors, Nanoseconds time_limit,
                                      Random& random, const ExperimentListeners& listeners) {
  const statistics::TwoLevelDesign design = statistics::folded_plackett_burman(factors.size() + kDummies);
  Nanoseconds pass_time;
  for (const std::vector<bool>& row : design) {
    pass_time += bench.duration(row_treatment(row, factors)) + conditioning_time(bench);
  }
  if (pass_time > time_limit) return std::nullopt;
  Device& device = bench.session().device();
  const Nanoseconds start = device.host_time();
  statistics::TwoLevelDesign rows;
  std::vector<std::size_t> passes;
  std::vector<double> values;
  Nanoseconds longest_pass;
  const auto spent = [&] { return device.host_time() - start; };
  std::size_t pass = 0;
  for (; pass == 0 || spent() + longest_pass <= time_limit; ++pass) {
    const Nanoseconds began = device.host_time();
    std::vector<std::size_t> order(design.size());
    std::iota(order.begin(), order.end(), 0);
    shuffle(order, random);
    for (const std::size_t row : order) {
      if (listeners.stop()) break;
      listeners.progress("screening all factors at once", spent() / time_limit);
      condition(bench);
      const std::optional<LoopReading> reading = reading_of(bench, row_treatment(design[row], factors));
      if (!reading || !(reading->time > Nanoseconds(0))) continue;  // a timer's grain above a short launch
      rows.push_back(design[row]);
      passes.push_back(pass);
      values.push_back(std::log(reading->time.value()));
    }
    if (listeners.stop()) break;
    longest_pass = std::max(longest_pass, device.host_time() - began);
  }
  const std::vector<statistics::MainEffect> effects = statistics::main_effects(rows, passes, values);
  if (effects.empty() || !std::isfinite(effects.front().interval.high)) return std::nullopt;
  ScreenedEffects screened;
  screened.rounds = std::ssize(rows);
  for (std::size_t i = 0; i < effects.size(); ++i) {
    (i < factors.size() ? screened.factors : screened.dummies).push_back(ratio_of_logarithms(effects[i]));
  }
  return screened;
}

}  // namespace jitterscope::explain
