#include "explain/experiments.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <boost/math/distributions/fisher_f.hpp>

#include "statistics/factor_effects.hpp"
#include "statistics/statistics.hpp"

namespace jitterscope::explain {
namespace {

bool sets_caches(const Factor* factor) {
  for (std::size_t dose = 0; dose < factor->doses.size(); ++dose) {
    if (treatment_of(*factor, dose).cache != CacheState::warm) return true;
  }
  return false;
}

// Leaves factors out, from the end of the second list on, until `blocks` blocks fit into the time.
class Fitting {
 public:
  Fitting(const TreatedLoop& bench, FactorList& first, FactorList& last, FactorList& left_out)
      : bench_(bench), first_(first), last_(last), left_out_(left_out) {}

  // Leaves out first what does not fit even alone, so that it takes no time from the others.
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
    constexpr double kMargin = 1.2;  // moving operands and rests behind a load are not counted
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

// Returns nullopt if the loop fails. Each factor was rehearsed alone, but together evictions and copies may
// fill the held queue, and a named engine may need other addresses than those given.
std::optional<LoopReading> reading_of(TreatedLoop& bench, const Treatment& treatment) {
  try {
    return bench.run(treatment);
  } catch (const HoldTimeoutError&) {
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
      if (!reading || !(reading->time > Nanoseconds(0))) continue;  // a launch shorter than the timer's step
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

namespace {

constexpr double kEnoughBlocks = 10.0;
constexpr std::size_t kPlainLoops = 2;

std::vector<std::size_t> doses_of(const Factor& factor, bool few) {
  const std::size_t count = factor.doses.size();
  std::vector<std::size_t> doses;
  for (std::size_t dose = 0; dose < count; ++dose) {
    if (!few || dose == 0 || dose + 1 == count) doses.push_back(dose);
  }
  return doses;
}

// Returns a rough estimate. `few`: only the first and the last dose of each factor.
Nanoseconds block_time(const TreatedLoop& bench, const FactorList& factors, bool few) {
  Nanoseconds time =
      (bench.duration(Treatment()) + conditioning_time(bench)) * static_cast<double>(kPlainLoops + kDummies);
  for (const Factor* factor : factors) {
    for (const std::size_t dose : doses_of(*factor, few)) {
      time += bench.duration(treatment_of(*factor, dose)) + conditioning_time(bench);
    }
  }
  return time;
}

class PairedExperiment {
 public:
  PairedExperiment(TreatedLoop& bench, const FactorList& factors, Random& random, Nanoseconds time_limit,
                   const ExperimentListeners& listeners)
      : bench_(bench), factors_(factors), random_(random), time_limit_(time_limit), listeners_(listeners) {
    found_.dummies.resize(kDummies);
    const bool has_time_for_all = block_time(bench, factors, false) * kEnoughBlocks <= time_limit;
    for (std::size_t factor = 0; factor < factors.size(); ++factor) {
      for (const std::size_t dose : doses_of(*factors[factor], !has_time_for_all)) add(factor, dose);
    }
  }

  PairedEffects run() {
    const Nanoseconds start = now();
    Nanoseconds longest;
    while (found_.blocks < kFewestBlocks || now() - start + longest <= time_limit_) {
      const Nanoseconds began = now();
      run_block([&] { listeners_.progress("each factor in pairs", (now() - start) / time_limit_); });
      if (listeners_.stop()) break;
      longest = std::max(longest, now() - began);
    }
    return std::move(found_);
  }

 private:
  Nanoseconds now() { return bench_.session().device().host_time(); }

  // A dose that cannot run is left out, with the reason.
  void add(std::size_t factor, std::size_t dose) {
    try {
      bench_.rehearse(treatment(factor, dose));
      found_.doses.push_back({factor, dose, {}, {}});
    } catch (const Error& error) {
      found_.failures.push_back({factor, dose, error.what()});
    }
  }

  Treatment treatment(std::size_t factor, std::size_t dose) const {
    return treatment_of(*factors_[factor], dose);
  }

  // Places in the list: plain loops, dummies, doses. A block that is interrupted does not count.
  template <class Report>
  void run_block(const Report& report) {
    const std::size_t rounds = kPlainLoops + kDummies + found_.doses.size();
    std::vector<std::size_t> order(rounds);
    for (std::size_t i = 0; i < rounds; ++i) order[i] = i;
    shuffle(order, random_);
    std::vector<LoopReading> readings(rounds);
    bench_.place_anew();  // else the effects would hold for this placement only
    for (const std::size_t place : order) {
      if (listeners_.stop()) return;
      report();
      const std::size_t first_dose = kPlainLoops + kDummies;
      Treatment one;
      if (place >= first_dose) {
        const PairedEffect& effect = found_.doses[place - first_dose];
        one = treatment(effect.factor, effect.dose);
      }
      condition(bench_);
      try {
        readings[place] = bench_.run(one);
      } catch (const NeighbourLostError& error) {
        note_lost(found_.doses[place - first_dose], error.what());
      }
    }
    keep(readings);
    ++found_.blocks;
  }

  // Notes it once for each factor; readings before the loss count.
  void note_lost(const PairedEffect& dose, const std::string& reason) {
    const auto is_known = [&](const PairedEffects::Failure& failure) {
      return failure.factor == dose.factor;
    };
    if (std::ranges::any_of(found_.failures, is_known)) return;
    found_.failures.push_back({dose.factor, dose.dose, reason});
  }

  void keep(const std::vector<LoopReading>& readings) {
    const auto is_read = [](const LoopReading& reading) { return reading.time > Nanoseconds(0); };
    if (!std::all_of(readings.begin(), readings.begin() + kPlainLoops, is_read)) return;
    double plain_time = 0.0, plain_clock = 0.0;
    bool has_clock = true;
    for (std::size_t i = 0; i < kPlainLoops; ++i) {
      plain_time += std::log(readings[i].time.value()) / kPlainLoops;
      has_clock = has_clock && readings[i].clock;
      if (has_clock) plain_clock += std::log(readings[i].clock->value()) / kPlainLoops;
    }
    found_.log_plain.push_back(plain_time);
    for (std::size_t i = kPlainLoops; i < readings.size(); ++i) {
      if (!is_read(readings[i])) continue;
      const std::size_t number = i - kPlainLoops;
      PairedEffect& effect = number < kDummies ? found_.dummies[number] : found_.doses[number - kDummies];
      effect.log_times.push_back(std::log(readings[i].time.value()) - plain_time);
      if (has_clock && readings[i].clock) {
        effect.log_clocks.push_back(std::log(readings[i].clock->value()) - plain_clock);
      }
    }
  }

  TreatedLoop& bench_;
  const FactorList& factors_;
  Random& random_;
  Nanoseconds time_limit_;
  const ExperimentListeners& listeners_;
  PairedEffects found_;
};

}  // namespace

Treatment treatment_of(const Factor& factor, std::size_t dose) {
  Treatment treatment;
  factor.doses[dose].apply(treatment);
  return treatment;
}

Nanoseconds shortest_block_time(const TreatedLoop& bench, const FactorList& factors) {
  return factors.empty() ? Nanoseconds(0) : block_time(bench, factors, true);
}

PairedEffects confirm(TreatedLoop& bench, const FactorList& factors, Nanoseconds time_limit, Random& random,
                      const ExperimentListeners& listeners) {
  return PairedExperiment(bench, factors, random, time_limit, listeners).run();
}

// Placement of operands. Intervention: between rounds they move to other memory, at unchanged addresses.
// Signature: a level that is constant within a placement. There is no dose and no better level, only a
// spread.

namespace {

double variance(std::span<const double> values) {
  const double deviation = statistics::standard_deviation(values);
  return std::isfinite(deviation) ? deviation * deviation : 0.0;
}

// Each value is the difference of two successive rounds: it has the variance of two rounds, and that of two
// placements if operands moved between them.
void fill(RandomFactor& factor, std::span<const double> moved, std::span<const double> stayed) {
  const auto freedom_moved = static_cast<double>(moved.size() - 1),
             freedom_stayed = static_cast<double>(stayed.size() - 1);
  const double variance_moved = variance(moved), variance_stayed = variance(stayed);
  const auto deviation = [&](double ratio) {
    return std::sqrt(std::max(0.0, variance_stayed * (ratio - 1.0) / 2.0));
  };
  factor.levels = std::ssize(moved) + 1;
  if (!(variance_stayed > 0.0)) {
    factor.deviation = factor.low = factor.high = std::sqrt(variance_moved / 2.0);
    return;
  }
  const boost::math::fisher_f distribution(freedom_moved, freedom_stayed);
  const double ratio = variance_moved / variance_stayed;
  factor.deviation = deviation(ratio);
  factor.low = deviation(ratio / boost::math::quantile(distribution, 0.975));
  factor.high = deviation(ratio / boost::math::quantile(distribution, 0.025));
}

}  // namespace

RandomFactor vary_placement(TreatedLoop& bench, std::size_t placements, Random& random,
                            const std::function<bool()>& stop) {
  RandomFactor factor;
  factor.id = "placement";
  factor.cause = "where the operands lie in memory";
  if (!bench.place_anew()) {
    factor.not_available = bench.subject().callable() != nullptr
                               ? "a function's operands are its own"
                               : "the operands cannot be moved on this device";
    return factor;
  }
  constexpr std::size_t kFewest = 4;
  if (placements < kFewest) {
    factor.not_available = "the loops are too long for the time";
    return factor;
  }
  const auto read = [&] {
    condition(bench);
    return std::log(std::max(bench.run(Treatment()).time.value(), 1e-3));
  };
  std::vector<bool> moves(2 * placements);
  for (std::size_t i = 0; i < moves.size(); ++i) moves[i] = i < placements;
  std::vector<std::size_t> order(moves.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  shuffle(order, random);
  std::vector<double> moved, stayed;
  double before = read();
  for (const std::size_t i : order) {
    if (stop()) break;
    if (moves[i]) bench.place_anew();
    const double now = read();
    (moves[i] ? moved : stayed).push_back(now - before);
    before = now;
  }
  if (moved.size() < kFewest || stayed.size() < kFewest) {
    factor.not_available = "the time was over";
  } else {
    fill(factor, moved, stayed);
  }
  return factor;
}

namespace {

// The moving average of the power limit forgets in 20 to 50 ms (H200).
constexpr Nanoseconds kRest = milliseconds(40), kWork = milliseconds(10);
// A load of 0.3 s takes longer to forget: the governor raises the clock step by step.
constexpr Nanoseconds kRestAfterLoad = milliseconds(300);

}  // namespace

void condition(TreatedLoop& bench) {
  Device& device = bench.session().device();
  Queue& queue = bench.session().queue();
  device.idle(bench.take_heated() ? kRestAfterLoad : kRest);
  const Nanoseconds end = device.host_time() + kWork;
  constexpr double kMostLaunches = 8.0;
  constexpr Nanoseconds kMostWork = milliseconds(100);  // a network's pass may last longer
  const auto launches =
      static_cast<std::int64_t>(std::clamp(kMostWork / bench.launch_time(), 1.0, kMostLaunches));
  while (device.host_time() < end) {
    queue.launch_in_a_row(bench.plain(), launches);
    queue.wait();
  }
}

Nanoseconds conditioning_time(const TreatedLoop& bench) {
  return kRest + std::max(kWork, bench.launch_time());
}

}  // namespace jitterscope::explain
