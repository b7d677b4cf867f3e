#include "explain/experiments.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>

#include <fmt/format.h>
#include <boost/math/distributions/fisher_f.hpp>

#include "statistics/factor_effects.hpp"
#include "statistics/statistics.hpp"

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
    pass_time += round_time(bench, row_treatment(row, factors));
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

class PairedExperiment {
 public:
  PairedExperiment(TreatedLoop& bench, const FactorList& factors, const PairsPlan& plan, Random& random,
                   Nanoseconds time_limit, const ExperimentListeners& listeners)
      : bench_(bench),
        factors_(factors),
        plan_(plan),
        random_(random),
        time_limit_(time_limit),
        listeners_(listeners),
        start_(now()) {
    found_.dummies.resize(kDummies);
    for (std::size_t factor = 0; factor < factors.size(); ++factor) {
      for (const std::size_t dose : doses_of(*factors[factor], plan)) add(factor, dose);
    }
  }

  PairedEffects run() {
    while (found_.blocks < plan_.fewest_blocks() || spent() + longest_block_ <= time_limit_) {
      const bool is_known = found_.blocks % plan_.long_doses_every == 0;  // else some doses had more turns
      if (plan_.may_leave_out && is_known) leave_out_what_has_no_time();
      if (found_.doses.empty() && !found_.left_out.empty()) break;
      const Nanoseconds began = now();
      run_block();
      if (listeners_.stop()) break;
      longest_block_ = std::max(longest_block_, now() - began);
      time_of_blocks_ += now() - began;
    }
    return std::move(found_);
  }

 private:
  static constexpr std::size_t kFirstDose = kPlainLoops + kDummies;

  // Beside the effect of the same number.
  struct Tried {
    Treatment treatment;
    std::optional<std::int64_t> number;  // among the doses that take long
    Nanoseconds time;                    // in all blocks
  };

  Nanoseconds now() { return bench_.session().device().host_time(); }
  Nanoseconds spent() { return now() - start_; }

  // A dose that cannot run is left out, with the reason.
  void add(std::size_t factor, std::size_t dose) {
    const Treatment treatment = treatment_of(*factors_[factor], dose);
    try {
      bench_.rehearse(treatment);
    } catch (const Error& error) {
      found_.failures.push_back({factor, dose, error.what()});
      return;
    }
    found_.doses.push_back({factor, dose, {}, {}});
    tried_.push_back({treatment, std::nullopt, Nanoseconds(0)});
    if (takes_long(bench_, treatment)) tried_.back().number = long_doses_++;
  }

  // Dummies, and doses that take long, take turns, so that blocks are about as long as each other.
  bool has_turn(std::int64_t number) const { return (found_.blocks + number) % plan_.long_doses_every == 0; }
  bool is_in_block(std::size_t place) const {
    if (place < kPlainLoops) return true;
    if (place < kFirstDose)
      return plan_.has_dummies && has_turn(static_cast<std::int64_t>(place - kPlainLoops));
    const Tried& tried = tried_[place - kFirstDose];
    return !tried.number || has_turn(*tried.number);
  }

  // Returns a dose's mean time in a block, as planned or, after some blocks, as measured, without the longer
  // rest in the round behind it.
  Nanoseconds time_in_block(const Tried& tried) const {
    const Nanoseconds planned =
        round_time(bench_, tried.treatment) / static_cast<double>(tried.number ? plan_.long_doses_every : 1);
    if (found_.blocks == 0) return planned;
    return std::max(planned, tried.time / static_cast<double>(found_.blocks));
  }

  Nanoseconds time_of_block() const {
    if (found_.blocks > 0) return time_of_blocks_ / static_cast<double>(found_.blocks);
    Nanoseconds time = time_of_plain_loops(bench_, plan_);
    for (const Tried& tried : tried_) time += time_in_block(tried);
    return time;
  }

  // The time alone decides, so that what is left out does not depend on what was found. A factor that was
  // begun is kept for a tenth more time: what follows the pairs gives it.
  void leave_out_what_has_no_time() {
    constexpr double kMore = 1.1;
    const auto blocks = static_cast<double>(plan_.fewest_blocks() - found_.blocks);
    Nanoseconds block = time_of_block();
    while (blocks > 0.0 && spent() + block * blocks > time_limit_ * kMore && !found_.doses.empty()) {
      std::map<std::size_t, Nanoseconds> times;
      for (std::size_t i = 0; i < tried_.size(); ++i)
        times[found_.doses[i].factor] += time_in_block(tried_[i]);
      const auto longest = std::ranges::max_element(times, {}, [](const auto& each) { return each.second; });
      block -= longest->second;
      leave_out(longest->first);
    }
  }

  void leave_out(std::size_t factor) {
    found_.left_out.push_back(factor);
    longest_block_ = Nanoseconds(0);
    for (std::size_t i = tried_.size(); i-- > 0;) {
      if (found_.doses[i].factor != factor) continue;
      time_of_blocks_ -= time_in_block(tried_[i]) * static_cast<double>(found_.blocks);
      found_.doses.erase(found_.doses.begin() + static_cast<std::ptrdiff_t>(i));
      tried_.erase(tried_.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }

  // Places in the list: plain loops, dummies, doses. A block that is interrupted does not count.
  void run_block() {
    std::vector<std::size_t> order;
    for (std::size_t place = 0; place < kFirstDose + tried_.size(); ++place) {
      if (is_in_block(place)) order.push_back(place);
    }
    shuffle(order, random_);
    std::vector<LoopReading> readings(kFirstDose + tried_.size());
    bench_.place_anew();  // else the effects would hold for this placement only
    for (const std::size_t place : order) {
      if (listeners_.stop()) return;
      listeners_.progress("each factor in pairs", spent() / time_limit_);
      const Nanoseconds began = now();
      const bool is_dose = place >= kFirstDose;
      condition(bench_);
      try {
        readings[place] = bench_.run(is_dose ? tried_[place - kFirstDose].treatment : Treatment());
      } catch (const NeighbourLostError& error) {
        note_lost(found_.doses[place - kFirstDose], error.what());
      }
      if (is_dose) tried_[place - kFirstDose].time += now() - began;
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

  // Dummies do not serve as plain loops: times are skewed, and a dose less the mean of four loops is more so,
  // of which a trimmed mean is off. With four, 76 to 91 % of the intervals held the effect in proofs, not 95
  // %.
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
      PairedEffect& effect = i < kFirstDose ? found_.dummies[i - kPlainLoops] : found_.doses[i - kFirstDose];
      effect.log_times.push_back(std::log(readings[i].time.value()) - plain_time);
      if (has_clock && readings[i].clock) {
        effect.log_clocks.push_back(std::log(readings[i].clock->value()) - plain_clock);
      }
    }
  }

  TreatedLoop& bench_;
  const FactorList& factors_;
  PairsPlan plan_;
  Random& random_;
  Nanoseconds time_limit_;
  const ExperimentListeners& listeners_;
  Nanoseconds start_, time_of_blocks_, longest_block_;
  PairedEffects found_;
  std::vector<Tried> tried_;
  std::int64_t long_doses_ = 0;
};

}  // namespace

PairedEffects confirm(TreatedLoop& bench, const FactorList& factors, const PairsPlan& plan,
                      Nanoseconds time_limit, Random& random, const ExperimentListeners& listeners) {
  return PairedExperiment(bench, factors, plan, random, time_limit, listeners).run();
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
  constexpr std::size_t kFewest = 10;  // of four a standard deviation is known to a factor of three or more
  if (placements < kFewest) {
    factor.not_available = fmt::format("the time is too short for {} placements", kFewest);
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

Nanoseconds round_time(const TreatedLoop& bench, const Treatment& treatment) {
  const Nanoseconds rest = bench.heats(treatment) ? kRestAfterLoad : kRest;
  return rest + std::max(kWork, bench.launch_time()) + bench.duration(treatment);
}

}  // namespace jitterscope::explain
