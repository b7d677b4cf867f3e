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

/// What both are told and asked.
struct ExperimentListeners {
  std::function<bool()> stop;
  std::function<void(const std::string& stage, double share)> progress;  ///< share of its time that is over
};

/// Factors that do nothing, in either experiment: what they show is its noise.
inline constexpr std::size_t kDummies = 2;

struct ScreenedEffects {
  std::vector<RatioEstimate> factors;  ///< in the order of the factors given
  std::vector<RatioEstimate> dummies;
  std::int64_t rounds = 0;
};

/// All factors at their strongest dose or without, in the rows of a folded Plackett–Burman design, in random
/// order; again until the time is over. Nothing where the time is too short for one pass. Two dummy factors,
/// which do nothing, go with them. At most 21 factors.
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
  std::vector<double> log_plain;  ///< time of the plain loops, block by block: logarithm of nanoseconds
  /// A dose that could not be run, and why: factor, dose, reason.
  struct Failure {
    std::size_t factor = 0, dose = 0;
    std::string reason;
  };
  std::vector<Failure> failures;
};

/// A plain loop with this dose, and nothing else.
Treatment treatment_of(const Factor& factor, std::size_t dose);

inline constexpr std::int64_t kFewestBlocks = 6;

/// Host time of one block with the first and the last dose of each factor, roughly; none for no factors.
Nanoseconds shortest_block_time(const TreatedLoop& bench, const FactorList& factors);

/// Blocks until the time is over, at least kFewestBlocks; where 10 with all doses would take longer, with the
/// first and the last dose of each factor. In each, behind the same conditioning, every dose of every factor,
/// two plain loops and two dummies (plain loops as well), in random order.
PairedEffects confirm(TreatedLoop& bench, const FactorList& factors, Nanoseconds time_limit, Random& random,
                      const ExperimentListeners& listeners);

/// How far placements differ: rounds behind a moving of the operands, and rounds without one, in random
/// order.
RandomFactor vary_placement(TreatedLoop& bench, std::size_t placements, Random& random,
                            const std::function<bool()>& stop);

// Which factors a study tries, in which order, and what it leaves out where time is short.

class TriedFactors {
 public:
  explicit TriedFactors(std::vector<Factor> factors);
  TriedFactors(const TriedFactors&) = delete;  // the lists point into it
  TriedFactors& operator=(const TriedFactors&) = delete;

  const FactorList& first() const { return first_; }
  const FactorList& last() const { return last_; }  ///< they leave the process changed for the others
  const FactorList& left_out() const { return left_out_; }
  const FactorList& not_available() const { return not_available_; }
  bool set_caches() const;  ///< whether one of those that are tried does

  /// Leaves out what has no time: first factors that can be spared, until more than the fewest blocks have
  /// time, since six leave most undecided; then any, until six have. What was asked for by name may take
  /// longer.
  void fit(const TreatedLoop& bench, Nanoseconds time, bool are_asked_for);

 private:
  std::vector<Factor> factors_;
  FactorList first_, last_, left_out_, not_available_;
};

// What stands before each round of an experiment, so that what the round before has left is gone.

/// A rest, in which the average of the power falls, and some work, so that the clock is awake.
void condition(TreatedLoop& bench);
/// Host time that it takes, roughly.
Nanoseconds conditioning_time(const TreatedLoop& bench);

}  // namespace jitterscope::explain
