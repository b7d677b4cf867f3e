// Chooses the factors that a study tries, and their doses: what is likely and cheap first, while there is
// time.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "explain/explanation.hpp"
#include "explain/factors.hpp"
#include "explain/treated_loop.hpp"

namespace jitterscope::explain {

/// Facts that are known before anything is switched, and hint at causes.
struct Hints {
  Nanoseconds launch_time = {}, launch_cost = {};  ///< of a launch on the device, and of its call on the host
  Bytes operands = {}, cache = {};                 ///< zero if not known
  bool draws_power = false;                        ///< much arithmetic for each byte
  /// Shares of the variation of plain loops: a launch's place in its loop, and the idle before it.
  double by_position = 0.0, by_idle = 0.0;
  Nanoseconds preparation = {};  ///< host time of preparing the subject once more
};
Hints hints_of(const TreatedLoop& bench, const Observation& observation);

/// Returns a rough chance that the factor moves the time by more than 0.5 %.
double likelihood(const std::string& id, const Hints& hints);

/// The least number of blocks from which a verdict follows.
inline constexpr std::int64_t kFewestBlocks = 6;

/// The doses that blocks of pairs have.
struct PairsPlan {
  /// If false, only the doses that decide: of doses that grow the strongest, of others the first and the
  /// last.
  bool has_all_doses = true;
  /// Each dummy, and a dose that takes as long as several plain loops, is in each block (1) or in every
  /// second one (2).
  std::int64_t long_doses_every = 1;
  bool has_dummies = true;
  /// Factors whose blocks turn out to take too long may still be left out.
  bool may_leave_out = false;

  std::int64_t fewest_blocks() const { return kFewestBlocks * long_doses_every; }
};

/// Returns a plain loop with this dose only.
Treatment treatment_of(const Factor& factor, std::size_t dose);
/// Returns the numbers of the doses that are tried.
std::vector<std::size_t> doses_of(const Factor& factor, const PairsPlan& plan);
bool takes_long(const TreatedLoop& bench, const Treatment& treatment);

/// Returns the approximate mean host time of a block's plain loops and dummies.
Nanoseconds time_of_plain_loops(const TreatedLoop& bench, const PairsPlan& plan);
/// Returns the approximate mean host time of a block; 0 for no factors.
Nanoseconds block_time(const TreatedLoop& bench, const FactorList& factors, const PairsPlan& plan);

/// Lists the factors that a study tries, in the order in which they are applied, and the others.
class TriedFactors {
 public:
  explicit TriedFactors(std::vector<Factor> factors);
  TriedFactors(const TriedFactors&) = delete;  // the lists point into it
  TriedFactors& operator=(const TriedFactors&) = delete;

  const FactorList& first() const { return first_; }
  const FactorList& last() const { return last_; }          ///< they leave the process changed for the others
  const FactorList& left_out() const { return left_out_; }  ///< the likeliest first
  const FactorList& not_available() const { return not_available_; }
  const PairsPlan& plan() const { return plan_; }
  bool set_caches() const;  ///< true if a factor to be tried does

  /// Plans all doses of all factors if ten blocks fit beside a screening. Else there is no screening, and
  /// only the doses that decide are tried: those of the likeliest and cheapest factors, as many as fit 12
  /// times, or where none does the fewest blocks. Factors asked for by name are tried as long as the fewest
  /// blocks fit into twice the time.
  void fit(const TreatedLoop& bench, const Hints& hints, Nanoseconds time, Nanoseconds screening,
           bool are_asked_for);

 private:
  Nanoseconds time_of_blocks(const TreatedLoop& bench, const Hints& hints, double blocks) const;

  std::vector<Factor> factors_;
  FactorList first_, last_, left_out_, not_available_;
  PairsPlan plan_;
};

}  // namespace jitterscope::explain
