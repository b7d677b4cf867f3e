#include "explain/tried_factors.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "explain/experiments.hpp"
#include "operation/operation.hpp"

namespace jitterscope::explain {
namespace {

double share_of(const Observation& observation, Variation variation) {
  const auto found = std::ranges::find(observation.shares, variation, &VariationShare::variation);
  return found == observation.shares.end() ? 0.0 : found->share;
}

// From this many operations for each byte on, arithmetic decides the time of a launch and its power (H200:
// 206 in bf16, 14 in f32).
constexpr double kMuchArithmetic = 30.0;

// The host's time for a launch is a large part of what a loop of shorter launches reads.
constexpr double kShort = 10.0;  // launch calls

}  // namespace

Hints hints_of(const TreatedLoop& bench, const Observation& observation) {
  const FirstWork& first = observation.first_work;
  Hints hints{.launch_time = bench.launch_time(),
              .launch_cost = bench.launch_cost(),
              .cache = bench.device().last_level_cache,
              .draws_power = true,
              .by_position = share_of(observation, Variation::position),
              .by_idle = share_of(observation, Variation::idle),
              .preparation = first.preparation_again.value_or(first.preparation)};
  if (const Operation* operation = bench.subject().operation()) {
    hints.operands = operand_memory(*operation);
    const auto bytes = static_cast<double>(std::max<std::int64_t>(1, hints.operands.value()));
    hints.draws_power = operation->flops() / bytes > kMuchArithmetic;
  }
  return hints;
}

// From studies of H200s and H100s (docs/evidence/explain.md). Chances within a tenth of each other say
// nothing about which is first.
double likelihood(const std::string& id, const Hints& hints) {
  const bool is_short = hints.launch_time < hints.launch_cost * kShort;
  const bool fits_cache = hints.operands < hints.cache;
  const bool meets_delays = hints.launch_time < hints.launch_cost + microseconds(20);
  const std::map<std::string, double, std::less<>> chances = {{"load", 0.9},
                                                              {"idle", 0.3 + hints.by_idle},
                                                              {"cache", fits_cache ? 0.9 : 0.6},
                                                              {"launches", 0.5 + hints.by_position / 2.0},
                                                              {"data", hints.draws_power ? 0.8 : 0.5},
                                                              {"queue", is_short ? 0.9 : 0.6},
                                                              {"instrument", is_short ? 0.9 : 0.6},
                                                              {"synchronization", is_short ? 0.9 : 0.6},
                                                              {"host_delay", meets_delays ? 0.9 : 0.3},
                                                              {"traffic", fits_cache ? 0.8 : 0.4},
                                                              {"allocator", 0.7},
                                                              {"engine", 0.6},
                                                              {"alignment", 0.5},
                                                              {"row_stride", 0.4},
                                                              {"host_scheduling", is_short ? 0.4 : 0.2},
                                                              {"heap", 0.2},
                                                              {"contention_kernels", 0.9},
                                                              {"contention_memory", 0.8},
                                                              {"contention_link", 0.5},
                                                              {"neighbour_kernels", 0.6},
                                                              {"neighbour_memory", 0.6},
                                                              {"neighbour_link", 0.5}};
  const auto found = chances.find(id);
  return found == chances.end() ? 0.5 : std::min(found->second, 1.0);
}

namespace {

// Returns the host time that a factor takes once, before its first round.
Nanoseconds time_of_start(const Factor& factor, const PairsPlan& plan, const Hints& hints) {
  constexpr Nanoseconds kProcess = seconds(3);  // to start, open the device and prepare its work (H200)
  Nanoseconds time;
  for (const std::size_t dose : doses_of(factor, plan)) {
    const Treatment treatment = treatment_of(factor, dose);
    if (treatment.neighbour) return kProcess;
    if (TreatedLoop::needs_preparation(treatment)) time += hints.preparation;
  }
  return time;
}

bool sets_caches(const Factor* factor) {
  for (std::size_t dose = 0; dose < factor->doses.size(); ++dose) {
    if (treatment_of(*factor, dose).cache != CacheState::warm) return true;
  }
  return false;
}

}  // namespace

Treatment treatment_of(const Factor& factor, std::size_t dose) {
  Treatment treatment;
  factor.doses[dose].apply(treatment);
  return treatment;
}

std::vector<std::size_t> doses_of(const Factor& factor, const PairsPlan& plan) {
  const std::size_t count = factor.doses.size();
  std::vector<std::size_t> doses;
  for (std::size_t dose = 0; dose < count; ++dose) {
    const bool decides = dose + 1 == count || (dose == 0 && !factor.doses_grow);
    if (plan.has_all_doses || decides) doses.push_back(dose);
  }
  return doses;
}

bool takes_long(const TreatedLoop& bench, const Treatment& treatment) {
  constexpr double kLong = 3.0;  // plain loops
  return round_time(bench, treatment) > round_time(bench, Treatment()) * kLong;
}

Nanoseconds time_of_plain_loops(const TreatedLoop& bench, const PairsPlan& plan) {
  const double dummies =
      plan.has_dummies ? static_cast<double>(kDummies) / static_cast<double>(plan.long_doses_every) : 0.0;
  return round_time(bench, Treatment()) * (static_cast<double>(kPlainLoops) + dummies);
}

Nanoseconds block_time(const TreatedLoop& bench, const FactorList& factors, const PairsPlan& plan) {
  if (factors.empty()) return Nanoseconds(0);
  Nanoseconds time = time_of_plain_loops(bench, plan);
  for (const Factor* factor : factors) {
    for (const std::size_t dose : doses_of(*factor, plan)) {
      const Treatment treatment = treatment_of(*factor, dose);
      const bool is_rare = takes_long(bench, treatment);
      time += round_time(bench, treatment) / static_cast<double>(is_rare ? plan.long_doses_every : 1);
    }
  }
  return time;
}

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

Nanoseconds TriedFactors::time_of_blocks(const TreatedLoop& bench, const Hints& hints, double blocks) const {
  constexpr double kMargin = 1.1;  // moving operands is not counted
  Nanoseconds time;
  for (const FactorList* factors : {&first_, &last_}) {
    time += block_time(bench, *factors, plan_) * (blocks * kMargin);
    for (const Factor* factor : *factors) time += time_of_start(*factor, plan_, hints);
  }
  return time;
}

void TriedFactors::fit(const TreatedLoop& bench, const Hints& hints, Nanoseconds time, Nanoseconds screening,
                       bool are_asked_for) {
  // Half as wide an interval as that of six: a trimmed mean of six values has three degrees of freedom.
  constexpr double kManyBlocks = 2.0 * kFewestBlocks, kEnoughBlocks = 10.0, kAsked = 2.0;
  plan_ = {.may_leave_out = !are_asked_for};
  if (time_of_blocks(bench, hints, kEnoughBlocks) <= time - screening) return;
  plan_.has_all_doses = false;
  plan_.long_doses_every = 2;
  const bool are_for_fewest = are_asked_for && time_of_blocks(bench, hints, kManyBlocks) > time;
  if (are_for_fewest) {
    plan_.long_doses_every = 1;
    time = time * kAsked;
  }
  const auto worth = [&](const Factor* factor) {
    // A factor that is tried last needs plain loops of its own.
    const Nanoseconds shared = factor->is_tried_last ? Nanoseconds(0) : time_of_plain_loops(bench, plan_);
    const Nanoseconds cost =
        block_time(bench, {factor}, plan_) - shared + time_of_start(*factor, plan_, hints) / kManyBlocks;
    const double chance = likelihood(factor->id, hints);
    return chance * chance / to_seconds(cost);
  };
  FactorList ranked = std::exchange(first_, {});
  const FactorList last = std::exchange(last_, {});
  ranked.insert(ranked.end(), last.begin(), last.end());
  std::ranges::stable_sort(ranked, std::greater(), worth);
  const auto try_as_fit = [&](double blocks, std::int64_t long_doses_every) {
    plan_.long_doses_every = long_doses_every;
    left_out_.clear();
    for (const Factor* factor : ranked) {
      FactorList& factors = factor->is_tried_last ? last_ : first_;
      factors.push_back(factor);
      if (time_of_blocks(bench, hints, blocks) <= time) continue;
      factors.pop_back();
      left_out_.push_back(factor);
    }
  };
  if (!are_for_fewest) try_as_fit(kManyBlocks, 2);
  // Six blocks give a verdict with a wide interval; they are tried where there is no time for twelve.
  if (first_.empty() && last_.empty()) try_as_fit(kFewestBlocks, 1);
  for (FactorList* factors : {&first_, &last_}) std::ranges::sort(*factors);  // as in factors_
}

}  // namespace jitterscope::explain
