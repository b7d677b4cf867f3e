#include "explain/observe.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "finding/evidence.hpp"
#include "measure/estimate.hpp"
#include "statistics/factor_effects.hpp"
#include "statistics/statistics.hpp"

namespace jitterscope::explain {
namespace {

constexpr std::size_t kFewestLoops = 4, kFewestOfLongOnes = 2;
constexpr Nanoseconds kShortestIdle = milliseconds(1), kLongestIdle = milliseconds(300);

// Returns at least 16; for long launches as many as have time, at least 3.
std::int64_t launches_of_loop(const TreatedLoop& bench, Nanoseconds time_limit) {
  constexpr double kMost = 1000;
  const double fewest =
      std::clamp(time_limit / (bench.launch_time() * static_cast<double>(kFewestLoops)), 3.0, 16.0);
  return std::llround(std::clamp(milliseconds(100) / bench.launch_time(), fewest, kMost));
}

Nanoseconds any_idle(Random& random) {
  return Nanoseconds(
      std::exp(random.uniform(std::log(kShortestIdle.value()), std::log(kLongestIdle.value()))));
}

Nanoseconds timer_grain(TreatedLoop& bench) { return bench.session().calibration().events.grain; }

class PlainLoop {
 public:
  PlainLoop(TreatedLoop& bench, std::int64_t launches, Random& random)
      : bench_(bench), launches_(launches), idle_(any_idle(random)) {}

  ObservedLoop run() {
    bench_.place_anew();
    bench_.session().device().idle(idle_);
    launch_all();
    ObservedLoop loop;
    loop.idle_before = idle_;
    read_times();
    loop.median = median_of(times_);
    loop.minimum = Nanoseconds(*std::ranges::min_element(times_));
    loop.maximum = Nanoseconds(*std::ranges::max_element(times_));
    loop.stretches = stretches();
    return loop;
  }
  const std::vector<double>& times() const { return times_; }
  /// Number of the first call, if calls may differ.
  std::optional<std::int64_t> first_call() const { return first_call_; }

 private:
  struct Pair {
    Mark from, to;
  };

  void launch_all() {
    Queue& queue = bench_.session().queue();
    Workload& workload = bench_.plain();
    first_call_ = workload.calls();
    stamps_.push_back(queue.stamp_clock());
    for (std::int64_t launch = 1; launch <= launches_; ++launch) {
      Pair pair;
      pair.from = queue.mark();
      queue.launch(workload);
      pair.to = queue.mark();
      pairs_.push_back(pair);
      const bool stops = bench_.stops_within();
      const bool ends_stretch = (launch & (launch + 1)) == 0 || launch == launches_ || stops;
      if (ends_stretch) stamps_.push_back(queue.stamp_clock());
      if (stops) break;
    }
    queue.wait();
  }

  void read_times() {
    for (const Pair& pair : pairs_) {
      times_.push_back(bench_.session().queue().elapsed(pair.from, pair.to).value());
    }
  }

  // The medians of a coarse timer are equal although loops differ by less than its step.
  Nanoseconds median_of(std::span<const double> times) const {
    return Nanoseconds(statistics::median_of_readings(times, timer_grain(bench_).value()));
  }

  std::vector<LoopStretch> stretches() {
    std::vector<LoopStretch> stretches;
    for (std::size_t begin = 0; begin < times_.size(); begin = 2 * begin + 1) {
      const std::size_t end = std::min(times_.size(), 2 * begin + 1);
      LoopStretch& stretch = stretches.emplace_back();
      stretch.first_launch = static_cast<std::int64_t>(begin) + 1;
      stretch.launches = static_cast<std::int64_t>(end - begin);
      stretch.median = median_of(std::span(times_).subspan(begin, end - begin));
      const std::size_t stamp = stretches.size();
      const auto clock = bench_.session().queue().clock_between(stamps_[stamp - 1], stamps_[stamp]);
      if (clock) stretch.clock = clock->frequency;
    }
    return stretches;
  }

  TreatedLoop& bench_;
  std::int64_t launches_;
  Nanoseconds idle_;
  std::vector<Pair> pairs_;
  std::vector<ClockStamp> stamps_;
  std::vector<double> times_;
  std::optional<std::int64_t> first_call_;
};

// Regresses the times of the loops' stretches on position, idle, clock, order and loop.
class Regression {
 public:
  /// The loops lie in one list, in the order in which they ran.
  Regression(std::span<const ObservedLoop* const> loops, const ObservedLoop* first) {
    std::size_t positions = 0;
    for (const ObservedLoop* loop : loops) positions = std::max(positions, loop->stretches.size());
    position_.columns.resize(positions);
    idle_.columns.resize(positions);
    double idle = 0.0;
    for (const ObservedLoop* loop : loops) idle += log_idle(*loop) / static_cast<double>(loops.size());
    order_.columns.resize(1);
    loop_.columns.resize(loops.size());
    bool all_clocks = true;
    for (std::size_t i = 0; i < loops.size(); ++i) {
      for (std::size_t k = 0; k < loops[i]->stretches.size(); ++k) {
        const LoopStretch& stretch = loops[i]->stretches[k];
        values_.push_back(std::log(std::max(stretch.median.value(), 1e-3)));
        for (std::size_t p = 0; p < positions; ++p) {
          position_.columns[p].push_back(p == k ? 1.0 : 0.0);
          idle_.columns[p].push_back(p == k ? log_idle(*loops[i]) - idle : 0.0);
        }
        order_.columns.front().push_back(static_cast<double>(loops[i] - first));
        for (std::size_t l = 0; l < loops.size(); ++l) loop_.columns[l].push_back(l == i ? 1.0 : 0.0);
        all_clocks = all_clocks && stretch.clock;
        clocks_.push_back(stretch.clock ? std::log(stretch.clock->value()) : 0.0);
      }
    }
    if (all_clocks) clock_.columns.push_back(clocks_);
  }

  /// Returns the shares of position, idle, clock, order, loop and rest.
  std::vector<double> shares() const {
    const std::vector<statistics::Explanation> all = {position_, idle_, clock_, order_, loop_};
    return statistics::shapley_shares(all, values_);
  }

  /// Returns the standard deviation of what the shares are of.
  double deviation() const { return values_.size() < 2 ? 0.0 : statistics::standard_deviation(values_); }

 private:
  static double log_idle(const ObservedLoop& loop) {
    return std::log(std::max(loop.idle_before.value(), 1.0));
  }

  // An idle acts on the first launches more than on the last, so each position has its own column.
  statistics::Explanation position_, idle_, clock_, order_, loop_;
  std::vector<double> values_, clocks_;
};

std::vector<const ObservedLoop*> each_of(const std::vector<ObservedLoop>& loops) {
  std::vector<const ObservedLoop*> all;
  for (const ObservedLoop& loop : loops) all.push_back(&loop);
  return all;
}

double deviation_of_stretches(const std::vector<ObservedLoop>& loops) {
  const std::vector<const ObservedLoop*> all = each_of(loops);
  return Regression(all, loops.data()).deviation();
}

std::vector<VariationShare> shares_of(const std::vector<ObservedLoop>& loops, Random& random) {
  constexpr int kResamples = 200;
  const std::vector<const ObservedLoop*> all = each_of(loops);
  std::vector<VariationShare> shares;
  for (const Variation variation : {Variation::position, Variation::idle, Variation::clock, Variation::order,
                                    Variation::loop, Variation::rest}) {
    shares.push_back({.variation = variation});
  }
  const std::vector<double> values = Regression(all, loops.data()).shares();
  std::vector<std::vector<double>> resampled(shares.size());
  for (int i = 0; i < kResamples; ++i) {
    std::vector<const ObservedLoop*> sample;
    for (std::size_t k = 0; k < all.size(); ++k) sample.push_back(all[random.below(all.size())]);
    const std::vector<double> again = Regression(sample, loops.data()).shares();
    for (std::size_t k = 0; k < shares.size(); ++k) resampled[k].push_back(again[k]);
  }
  for (std::size_t k = 0; k < shares.size(); ++k) {
    constexpr std::array kEnds = {0.025, 0.975};
    const std::vector<double> ends = statistics::quantiles(resampled[k], kEnds);
    shares[k].share = values[k];
    shares[k].low = std::min(values[k], ends[0]);
    shares[k].high = std::max(values[k], ends[1]);
  }
  return shares;
}

// Returns the middle half as a standard deviation of normal values, so that a single launch held up by
// another program does not dominate. Where that half lies within two steps of the timer, its width is a whole
// number of steps, often none, and says nothing: then it is the deviation of all within two steps.
double relative_deviation(std::span<const double> values, double grain = 0.0) {
  constexpr std::array kQuartiles = {0.25, 0.75};
  constexpr double kOfNormal = 1.349, kSteps = 2.0;
  const std::vector<double> ends = statistics::quantiles(values, kQuartiles);
  const double median = statistics::median(values);
  if (ends[1] - ends[0] >= kSteps * grain) return (ends[1] - ends[0]) / kOfNormal / median;
  std::vector<double> near;
  std::ranges::copy_if(values, std::back_inserter(near),
                       [&](double value) { return std::abs(value - median) <= kSteps * grain; });
  return near.size() < 2 ? 0.0 : statistics::standard_deviation(near) / median;
}

}  // namespace

std::string_view to_string(Variation variation) {
  switch (variation) {
    case Variation::position: return "position";
    case Variation::idle: return "idle";
    case Variation::clock: return "clock";
    case Variation::order: return "order";
    case Variation::loop: return "loop";
    case Variation::rest: return "rest";
  }
  return "rest";
}

std::string_view words_for(Variation variation) {
  switch (variation) {
    case Variation::position: return "the launch's place in its loop";
    case Variation::idle: return "the idle before the loop";
    case Variation::clock: return "the clock";
    case Variation::order: return "how long it has run";
    case Variation::loop: return "nothing that was seen, between loops";
    case Variation::rest: return "nothing that was seen, within loops";
  }
  return "";
}

Observation observe(TreatedLoop& bench, Nanoseconds time_limit, Random& random,
                    const ExperimentListeners& listeners) {
  Observation observation;
  observation.first_work = bench.find_first_work();
  std::vector<double> all, medians, within;
  std::vector<std::int64_t> numbers;  // numbers of all calls, if calls may differ
  const std::int64_t launches = launches_of_loop(bench, time_limit);
  const Nanoseconds start = bench.session().device().host_time();
  const auto goes_on = [&] {
    if (listeners.stop()) return false;
    const Nanoseconds spent = bench.session().device().host_time() - start;
    listeners.progress("plain loops", spent / time_limit);
    const std::size_t fewest = spent < time_limit * 2.0 ? kFewestLoops : kFewestOfLongOnes;
    return observation.loops.size() < fewest || spent < time_limit;
  };
  while (goes_on()) {
    PlainLoop loop(bench, launches, random);
    observation.loops.push_back(loop.run());
    for (std::size_t i = 0; loop.first_call() && i < loop.times().size(); ++i) {
      numbers.push_back(*loop.first_call() + static_cast<std::int64_t>(i));
    }
    all.insert(all.end(), loop.times().begin(), loop.times().end());
    medians.push_back(observation.loops.back().median.value());
    within.push_back(relative_deviation(loop.times(), timer_grain(bench).value()));
  }
  if (observation.loops.empty()) return observation;
  constexpr std::array kProbabilities = {0.05, 0.5, 0.95};
  const std::vector<double> quantiles = statistics::quantiles(all, kProbabilities);
  observation.p5 = Nanoseconds(quantiles[0]);
  observation.median = Nanoseconds(quantiles[1]);
  observation.p95 = Nanoseconds(quantiles[2]);
  observation.drift = drift_along(medians);
  const std::vector<statistics::ModeEstimate> modes = statistics::find_modes(all);
  for (const statistics::ModeEstimate& mode : modes) {
    if (modes.size() > 1) observation.modes.push_back({Nanoseconds(mode.location), mode.weight});
  }
  observation.mean = Nanoseconds(statistics::mean_interval(all).mean);
  if (numbers.size() == all.size()) observation.recurrence = find_recurrence(numbers, all);
  observation.within_loops = statistics::median(within);
  observation.between_loops = relative_deviation(medians);
  observation.shares = shares_of(observation.loops, random);
  observation.between_stretches = deviation_of_stretches(observation.loops);
  return observation;
}

}  // namespace jitterscope::explain
