#include "explain/tried_factors.hpp"

#include <algorithm>

#include "explain/experiments.hpp"

namespace jitterscope::explain {
namespace {

bool sets_caches(const Factor* factor) {
  for (std::size_t dose = 0; dose < factor->doses.size(); ++dose) {
    if (treatment_of(*factor, dose).cache != CacheState::warm) return true;
  }
  return false;
}

// From the end of the lists, last ones first, until so many blocks have time.
class Fitting {
 public:
  Fitting(const TreatedLoop& bench, FactorList& first, FactorList& last, FactorList& left_out)
      : bench_(bench), first_(first), last_(last), left_out_(left_out) {}

  // First what has no time by itself, so that it takes none from the others.
  template <class MayGo>
  void leave_out(double blocks, Nanoseconds most, const MayGo& may_go) {
    for (FactorList* factors : {&first_, &last_}) {
      const auto has_time = [&](const Factor* factor) {
        return !may_go(factor) || time_of({factor}, blocks) <= most;
      };
      const auto without = std::stable_partition(factors->begin(), factors->end(), has_time);
      left_out_.insert(left_out_.end(), without, factors->end());
      factors->erase(without, factors->end());
    }
    while (time_of(first_, blocks) + time_of(last_, blocks) > most) {
      if (!drop_from(last_, may_go) && !drop_from(first_, may_go)) return;
    }
  }

 private:
  Nanoseconds time_of(const FactorList& factors, double blocks) const {
    constexpr double kMargin = 1.2;  // operands are moved, and rest behind a load: neither is counted there
    return shortest_block_time(bench_, factors) * blocks * kMargin;
  }

  template <class MayGo>
  bool drop_from(FactorList& factors, const MayGo& may_go) {
    const auto last = std::find_if(factors.rbegin(), factors.rend(), may_go);
    if (last == factors.rend()) return false;
    left_out_.push_back(*last);
    factors.erase(std::next(last).base());
    return true;
  }

  const TreatedLoop& bench_;
  FactorList &first_, &last_, &left_out_;
};

}  // namespace

TriedFactors::TriedFactors(std::vector<Factor> factors) : factors_(std::move(factors)) {
  for (const Factor& factor : factors_) {
    (!factor.not_available.empty() ? not_available_
     : factor.is_tried_last        ? last_
                                   : first_)
        .push_back(&factor);
  }
}

bool TriedFactors::set_caches() const {
  return std::ranges::any_of(first_, sets_caches) || std::ranges::any_of(last_, sets_caches);
}

void TriedFactors::fit(const TreatedLoop& bench, Nanoseconds time, bool are_asked_for) {
  constexpr double kBlocks = 8.0, kAsked = 2.0;
  Fitting fitting(bench, first_, last_, left_out_);
  if (!are_asked_for) {
    fitting.leave_out(kBlocks, time, [](const Factor* factor) {
      return factor->when_time_is_short == WhenShort::leave_out;
    });
  }
  fitting.leave_out(static_cast<double>(kFewestBlocks), time * (are_asked_for ? kAsked : 1.0),
                    [](const Factor*) { return true; });
}

}  // namespace jitterscope::explain
