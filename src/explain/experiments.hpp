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

namespace jitterscope::explain {

/// Callbacks of both experiments.
struct ExperimentListeners {
  std::function<bool()> stop;
  std::function<void(const std::string& stage, double share)> progress;  ///< share of the time that is over
};

/// Number of dummy factors in each experiment: they do nothing, so they show its noise.
inline constexpr std::size_t kDummies = 2;

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
};

/// Returns a plain loop with this dose only.
Treatment treatment_of(const Factor& factor, std::size_t dose);

inline constexpr std::int64_t kFewestBlocks = 6;

/// Returns a block's approximate host time with each factor's first and last dose; 0 for no factors.
Nanoseconds shortest_block_time(const TreatedLoop& bench, const FactorList& factors);

/// Runs blocks until the time is over, at least kFewestBlocks. A block has every dose of every factor, two
/// plain loops and two dummies (plain loops, too), in random order, each after the same conditioning. If 10
/// blocks with all doses would take too long, only the first and the last dose of each factor are used.
PairedEffects confirm(TreatedLoop& bench, const FactorList& factors, Nanoseconds time_limit, Random& random,
                      const ExperimentListeners& listeners);

/// Estimates how far placements differ, from rounds after a move of the operands and rounds without one, in
/// random order.
RandomFactor vary_placement(TreatedLoop& bench, std::size_t placements, Random& random,
                            const std::function<bool()>& stop);

// Chooses the factors that a study tries, their order, and those left out if time is short.

class TriedFactors {
 public:
  explicit TriedFactors(std::vector<Factor> factors);
  TriedFactors(const TriedFactors&) = delete;  // the lists point into it
  TriedFactors& operator=(const TriedFactors&) = delete;

  const FactorList& first() const { return first_; }
  const FactorList& last() const { return last_; }  ///< they leave the process changed for the others
  const FactorList& left_out() const { return left_out_; }
  const FactorList& not_available() const { return not_available_; }
  bool set_caches() const;  ///< true if a factor to be tried does

  /// Leaves out factors that have no time. First those that may be spared, until eight blocks fit, since six
  /// leave most factors undecided; then any, until six fit. Factors asked for by name may take twice the
  /// time.
  void fit(const TreatedLoop& bench, Nanoseconds time, bool are_asked_for);

 private:
  std::vector<Factor> factors_;
  FactorList first_, last_, left_out_, not_available_;
};

// Conditioning before each round of an experiment removes what the round before has left.

/// Rests, so that the average of the power falls, then works, so that the clock is awake.
void condition(TreatedLoop& bench);
/// Returns the approximate host time of condition().
Nanoseconds conditioning_time(const TreatedLoop& bench);

}  // namespace jitterscope::explain
