// What is asked of causes when their effects are known: by which way they act.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "explain/experiments.hpp"
#include "explain/tried_factors.hpp"

namespace jitterscope::explain {

struct JudgedFactors {
  TreatedLoop& bench;
  const FactorList& factors;
  const std::vector<std::size_t>& doses;  ///< of each factor, the one that its verdict is about
  std::vector<FactorResult>& results;     ///< in the order of the factors; others may follow
  std::function<bool()> is_interrupted;
  std::function<Nanoseconds()> time_left;
};

/// Power and heat lower the clock alike; the device says which of them it was.
void find_what_held_the_clock(const JudgedFactors& judged);

/// Whether power is how they act, as far as there is time.
void let_causes_rest(const JudgedFactors& judged, Nanoseconds time_of_each, Random& random,
                     const ExperimentListeners& listeners);

/// What differs in hardware counters. A profiler slows what runs beside it: for when all times are known.
/// Gives why causes were not counted; empty where they were, or there is none.
std::string count_causes(const JudgedFactors& judged);

}  // namespace jitterscope::explain
