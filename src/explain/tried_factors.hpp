// Which factors a study tries, in which order, and what it leaves out where time is short.
#pragma once

#include <vector>

#include "explain/factor.hpp"
#include "explain/treated_loop.hpp"

namespace jitterscope::explain {

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

}  // namespace jitterscope::explain
