// The two experiments of a study: all factors at once, and each in pairs with the plain loop.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/random.hpp"
#include "explain/explanation.hpp"
#include "explain/factors.hpp"
#include "explain/treated_loop.hpp"
#include "explain/tried_factors.hpp"

namespace jitterscope::explain {

/// Callbacks of both experiments.
struct ExperimentListeners {
  std::function<bool()> stop;
  std::function<void(const std::string& stage, double share)> progress;  ///< share of the time that is over
};

/// Number of dummy factors in each experiment: they do nothing, so they show its noise.
inline constexpr std::size_t kDummies = 2;
/// Number of plain loops in each block of pairs.
inline constexpr std::size_t kPlainLoops = 2;

struct ScreenedEffects {
  std::vector<RatioEstimate> factors;  ///< in the order of the given factors
  std::vector<RatioEstimate> dummies;
  std::int64_t rounds = 0;
};

/// Runs all factors, each at its strongest dose or without, in the rows of a folded Plackett–Burman design,
/// in random order, again and again until the time is over. Adds two dummies. Takes at most 21 factors.
/// nullopt if the time is too short for one pass.
std::optional<ScreenedEffects> screen(TreatedLoop& bench, const FactorList& factors, Nanoseconds time_limit,
                                      Random& random, const ExperimentListeners& listeners);

struct PairedEffect {
  std::size_t factor = 0, dose = 0;
  std::vector<double> log_times = {}, log_clocks = {};  ///< with the dose less without, block by block
};
struct PairedEffects {
  std::vector<PairedEffect> doses;  ///< factor by factor, dose by dose
  std::vector<PairedEffect> dummies;
  std::int64_t blocks = 0;
  std::vector<double> log_plain;  ///< logarithm of the plain loops' nanoseconds, block by block
  /// A dose that could not be run, and why.
  struct Failure {
    std::size_t factor = 0, dose = 0;
    std::string reason;
  };
  std::vector<Failure> failures;
  std::vector<std::size_t> left_out;  ///< factors for which there was no time after all; they have no doses
};

/// Runs blocks until the time is over, at least the plan's fewest. A block has the doses that the plan says,
/// two plain loops that serve all of them, and two dummies (plain loops, too), in random order, each after
/// the same conditioning. Where the fewest blocks would outlast the time, the plan may allow to leave factors
/// out, those that take longest first.
PairedEffects confirm(TreatedLoop& bench, const FactorList& factors, const PairsPlan& plan,
                      Nanoseconds time_limit, Random& random, const ExperimentListeners& listeners);

/// Estimates how far placements differ, from rounds after a move of the operands and rounds without one, in
/// random order.
RandomFactor vary_placement(TreatedLoop& bench, std::size_t placements, Random& random,
                            const std::function<bool()>& stop);

// Conditioning before each round of an experiment removes what the round before has left.

/// Rests, so that the average of the power falls, then works, so that the clock is awake.
void condition(TreatedLoop& bench);
/// Returns the approximate host time of a round: condition(), a longer rest behind a load, and the loop.
Nanoseconds round_time(const TreatedLoop& bench, const Treatment& treatment);

}  // namespace jitterscope::explain
