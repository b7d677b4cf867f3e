#include <algorithm>
#include <cmath>

#include "explain/conditioning.hpp"
#include "explain/experiments.hpp"

namespace jitterscope::explain {
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

// Roughly; `few`: with the first and the last dose of each factor.
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

  // What cannot run is left out, and said.
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

  // Plain loops first in the list, then dummies, then doses. A block that is cut off counts for nothing.
  template <class Report>
  void run_block(const Report& report) {
    const std::size_t rounds = kPlainLoops + kDummies + found_.doses.size();
    std::vector<std::size_t> order(rounds);
    for (std::size_t i = 0; i < rounds; ++i) order[i] = i;
    shuffle(order, random_);
    std::vector<LoopReading> readings(rounds);
    bench_.place_anew();  // else the effects are those of one placement, as another process would not have it
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

  // Once for each factor; what was read of it before counts.
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

}  // namespace jitterscope::explain
