#include <algorithm>
#include <cmath>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "experiment/comparison.hpp"
#include "experiment/judgement.hpp"
#include "experiment/processes.hpp"
#include "measure/estimate.hpp"
#include "statistics/statistics.hpp"

// Compares trials that several processes timed side by side, and adds up the layers of networks.

namespace jitterscope {

/// The items and effects of a record's comparisons, in the same order.
struct ProcessEffects {
  std::vector<std::size_t> items;
  std::vector<std::optional<statistics::Effect>> effects;  ///< nullopt if the comparison failed
};

/// Adds a total for each alternative, load and cache state: the sum over the layers that could be compared,
/// over the processes that timed all of these layers on both sides.
void add_totals(const ComparisonItems& items, std::span<const RunRecord> processes,
                const ProcessEffects& compared, ComparisonRecord& record);

namespace {

using statistics::Effect;

double cycles_of_round(const Round& round) {
  return round.clock ? cycles_in(round.time(), *round.clock).value() : 0.0;
}

struct ProcessPair {
  const Result *first_result, *second_result;
  const Measurement *first, *second;
};

// Returns the ratios of one process. Under a sustained load the sides' rounds do not alternate, so a process
// has one ratio.
std::vector<double> time_ratios(const ProcessPair& pair) {
  if (pair.first->conditions.load == Load::burst) {
    return paired_log_ratios_of_time(pair.first->rounds, pair.second->rounds);
  }
  return {std::log(pair.second->time.median / pair.first->time.median)};
}

std::vector<double> cycles_ratios(const ProcessPair& pair) {
  if (pair.first->conditions.load == Load::burst) {
    return paired_log_ratios(pair.first->rounds, pair.second->rounds, cycles_of_round);
  }
  if (!pair.first->cycles || !pair.second->cycles) return {};
  return {std::log(pair.second->cycles->value() / pair.first->cycles->value())};
}

// Returns the effect for equal work: a launch of the second side does `work` times that of the first.
std::optional<Effect> effect_of(const std::vector<ProcessPair>& pairs,
                                std::vector<double> (*ratios)(const ProcessPair&), double work) {
  std::vector<std::vector<double>> processes;
  for (const ProcessPair& pair : pairs) {
    processes.push_back(ratios(pair));
    for (double& ratio : processes.back()) ratio -= std::log(work);
  }
  return statistics::effect_over_processes(processes);
}

template <class Number>
std::optional<Number> median_of(const std::vector<std::optional<Number>>& values) {
  std::vector<double> known;
  for (const std::optional<Number>& value : values) {
    if (value) known.push_back(value->value());
  }
  return known.empty() ? std::nullopt : std::optional(Number(statistics::median(known)));
}

ComparedSide side_over(const std::vector<ProcessPair>& pairs, const Result* ProcessPair::*result,
                       const Measurement* ProcessPair::*measurement) {
  ComparedSide side = side_of(*(pairs.front().*result), *(pairs.front().*measurement));
  std::vector<ProcessTime> times;
  std::vector<std::optional<Hertz>> clocks;
  std::vector<std::optional<Cycles>> cycles;
  std::int64_t rounds = 0;
  side.rounds.clear();
  side.launches.clear();
  for (const ProcessPair& pair : pairs) {
    const std::vector<Nanoseconds> own = settled_times(*(pair.*measurement));
    side.rounds.insert(side.rounds.end(), own.begin(), own.end());
    const std::vector<Nanoseconds> launches = settled_launches(*(pair.*measurement));
    side.launches.insert(side.launches.end(), launches.begin(), launches.end());
    times.push_back(process_time(*(pair.*measurement)));
    clocks.push_back(times.back().clock);
    cycles.push_back(times.back().cycles);
    rounds += std::ssize((pair.*measurement)->rounds);
    if ((pair.*result)->algorithm != side.algorithm) side.algorithm.clear();
  }
  if (times.size() > 1) side.time = estimate_over_processes(times, rounds);
  side.clock = median_of(clocks);
  side.cycles = median_of(cycles);
  return side;
}

void fill(Comparison& comparison, const Effect& effect) {
  comparison.time = ratio_of(effect);
  comparison.processes = effect.processes;
  comparison.within = effect.within;
  comparison.between = effect.between;
  comparison.p_value = effect.p_value;
  for (const double value : effect.values) comparison.process_ratios.push_back(std::exp(value));
}

class ProcessComparer {
 public:
  ProcessComparer(const ComparisonItems& items, std::span<const RunRecord> processes,
                  ComparisonRecord& record)
      : items_(items), processes_(processes), record_(record) {}

  void compare() {
    for (std::size_t item = 0; item < items_.items.size(); ++item) {
      for (std::size_t alternative = 1; alternative < items_.alternatives; ++alternative)
        compare_item(item, alternative);
    }
    judge(record_.comparisons, compared_.effects, record_.margin);
    keep_some_rounds(record_.comparisons);
    std::int64_t calls = 0;
    for (const RunEntry& item : items_.items) add_calls(calls, item.count);
    if (calls > 1 && items_.have_total) add_totals(items_, processes_, compared_, record_);
  }

 private:
  void compare_item(std::size_t item, std::size_t alternative) {
    const Result *first = nullptr, *second = nullptr;
    std::string failure;
    for (const RunRecord& process : processes_) {
      const Result *a = items_.result_of(process, item, 0), *b = items_.result_of(process, item, alternative);
      if (a == nullptr || b == nullptr) continue;
      if (failure.empty()) failure = a->failure.empty() ? b->failure : a->failure;
      if (!a->failure.empty() || !b->failure.empty()) continue;
      // Take the process that got farthest: an interrupted one lacks conditions.
      if (first == nullptr || conditions_of(*a, *b) > conditions_of(*first, *second)) {
        first = a;
        second = b;
      }
    }
    if (first == nullptr) {
      if (!failure.empty()) add(item, failed(item, alternative, failure), std::nullopt);
      return;
    }
    failure = ignored_engine(*first, *second);
    if (!failure.empty()) return add(item, failed(item, alternative, failure), std::nullopt);
    for (std::size_t i = 0; i < conditions_of(*first, *second); ++i) {
      compare_condition(item, alternative, first->measurements[i].conditions,
                        second->measurements[i].conditions);
    }
  }

  static std::size_t conditions_of(const Result& first, const Result& second) {
    return std::min(first.measurements.size(), second.measurements.size());
  }

  Comparison comparison_of(std::size_t item, std::size_t alternative) const {
    Comparison comparison{.layers = items_.items[item].layers, .count = items_.items[item].count};
    comparison.alternative = alternative;
    return comparison;
  }

  Comparison failed(std::size_t item, std::size_t alternative, const std::string& failure) const {
    Comparison comparison = comparison_of(item, alternative);
    for (const RunRecord& process : processes_) {
      const Result *a = items_.result_of(process, item, 0), *b = items_.result_of(process, item, alternative);
      if (a == nullptr || b == nullptr) continue;
      comparison.first.subject = a->subject;
      comparison.second.subject = b->subject;
    }
    comparison.failure = failure;
    return comparison;
  }

  void compare_condition(std::size_t item, std::size_t alternative, const Conditions& first,
                         const Conditions& second) {
    std::vector<ProcessPair> pairs;
    for (const RunRecord& process : processes_) {
      const Result *a = items_.result_of(process, item, 0), *b = items_.result_of(process, item, alternative);
      if (a == nullptr || b == nullptr) continue;
      const Measurement* of_first = measurement_of(*a, first.load, first.cache);
      const Measurement* of_second = measurement_of(*b, second.load, second.cache);
      if (of_first == nullptr || of_second == nullptr) continue;
      pairs.push_back({a, b, of_first, of_second});
    }
    if (pairs.empty()) return;
    Comparison comparison = comparison_of(item, alternative);
    comparison.first = side_over(pairs, &ProcessPair::first_result, &ProcessPair::first);
    comparison.second = side_over(pairs, &ProcessPair::second_result, &ProcessPair::second);
    comparison.first.per_sample = per_sample(record_, 0, comparison.first.time.median);
    comparison.second.per_sample = per_sample(record_, alternative, comparison.second.time.median);
    comparison.resolution = resolution_of(*pairs.front().first, *pairs.front().second, Beside::same_process);
    const std::optional<Effect> time = effect_of(pairs, time_ratios, work_of(record_, alternative));
    if (time) {
      fill(comparison, *time);
    } else {
      comparison.failure = "too few rounds beside each other for a ratio";
    }
    const std::optional<Effect> cycles = effect_of(pairs, cycles_ratios, work_of(record_, alternative));
    if (time && cycles && cycles->processes == time->processes) comparison.cycles = ratio_of(*cycles);
    add(item, std::move(comparison), time);
  }

  void add(std::size_t item, Comparison comparison, const std::optional<Effect>& effect) {
    record_.comparisons.push_back(std::move(comparison));
    compared_.items.push_back(item);
    compared_.effects.push_back(effect);
  }

  const ComparisonItems& items_;
  std::span<const RunRecord> processes_;
  ComparisonRecord& record_;
  ProcessEffects compared_;
};

}  // namespace

void compare_processes(const ComparisonItems& items, std::span<const RunRecord> processes,
                       ComparisonRecord& record) {
  ProcessComparer(items, processes, record).compare();
  note_ignored_engines(processes, items.alternatives, record);
  note_other_work(processes, record);
  note_only_moved(record);
}

namespace {

bool is_alike(const Conditions& a, const Conditions& b) { return a.load == b.load && a.cache == b.cache; }

// Sums over all layers of one side in one process.
struct Sum {
  Nanoseconds time;
  std::optional<double> cycles = 0.0;  // nullopt if the clock of any layer is unknown

  void add(const Measurement& measurement, double count) {
    time += measurement.time.median * count;
    const std::optional<Cycles> own = process_time(measurement).cycles;
    cycles = cycles && own ? std::optional(*cycles + own->value() * count) : std::nullopt;
  }
};

// The totals of a single process. The only known scatter is that of each layer's ratio over its blocks.
// Layers are measured independently, so these errors add up as squares, weighted by share of the sum.
class SumOfOne {
 public:
  /// Adds a layer: its amount in all calls on the first side; logarithm and half-width of second over first.
  void add(double first, double change, double half) {
    const double second = first * std::exp(change);
    first_ += first;
    second_ += second;
    squares_ += half * second * (half * second);
  }
  double first() const { return first_; }
  double second() const { return second_; }
  Effect effect() const {
    return statistics::effect_with_half_width(std::log(second_ / first_), std::sqrt(squares_) / second_);
  }

 private:
  double first_ = 0.0, second_ = 0.0, squares_ = 0.0;
};

// Computes the total of one alternative under one load, in one cache state of each side.
class Totaller {
 public:
  Totaller(const ComparisonItems& items, std::span<const RunRecord> processes, const ProcessEffects& compared,
           ComparisonRecord& record, const Comparison& like)
      : items_(items),
        processes_(processes),
        compared_(compared),
        record_(record),
        alternative_(like.alternative),
        first_(like.first.conditions),
        second_(like.second.conditions) {}

  void add() {
    std::vector<std::pair<Sum, Sum>> sums;
    for (const RunRecord& process : processes_) {
      if (const auto own = sums_of(process)) sums.push_back(*own);
    }
    if (sums.size() == 1) return add_of_one();
    add_of(sums);
  }

 private:
  TotalComparison blank() const {
    return {.alternative = alternative_, .load = first_.load, .cache = first_.cache};
  }

  void add_of(const std::vector<std::pair<Sum, Sum>>& sums) {
    std::vector<ProcessTime> firsts, seconds;
    std::vector<std::vector<double>> ratios, cycles_ratios;
    double first_cycles = 0.0, second_cycles = 0.0, first_time = 0.0, second_time = 0.0;
    const double work = work_of(record_, alternative_);
    for (const auto& [first, second] : sums) {
      firsts.push_back({first.time, {}, {}});
      seconds.push_back({second.time, {}, {}});
      ratios.push_back({std::log(second.time / first.time / work)});
      if (!first.cycles || !second.cycles) continue;
      cycles_ratios.push_back({std::log(*second.cycles / *first.cycles / work)});
      first_cycles += *first.cycles;
      second_cycles += *second.cycles;
      first_time += to_seconds(first.time);
      second_time += to_seconds(second.time);
    }
    const std::optional<Effect> effect = statistics::effect_over_processes(ratios);
    if (!effect) return;
    TotalComparison total = blank();
    total.first = estimate_over_processes(firsts, std::ssize(ratios));
    total.second = estimate_over_processes(seconds, std::ssize(ratios));
    const std::optional<Effect> in_cycles = cycles_ratios.size() == ratios.size()
                                                ? statistics::effect_over_processes(cycles_ratios)
                                                : std::nullopt;
    if (in_cycles) {
      total.cycles = ratio_of(*in_cycles);
      total.first_clock = Hertz(first_cycles / first_time);
      total.second_clock = Hertz(second_cycles / second_time);
    }
    add(std::move(total), *effect);
  }

  void add_of_one() {
    TotalComparison total = blank();
    SumOfOne times, cycles;
    bool all_have_cycles = true;
    for (std::size_t i = 0; i < compared_.effects.size(); ++i) {
      const Comparison& each = record_.comparisons[i];
      const std::optional<Effect>& effect = compared_.effects[i];
      if (!effect || !is_of_this(each)) continue;
      add_times(total.first, each.first.time, each.count);
      add_times(total.second, each.second.time, each.count);
      // Uses paired ratios: the two sides' medians alone would add the variation between blocks.
      const auto count = static_cast<double>(each.count);
      times.add(each.first.time.median.value() * count, effect->value,
                (effect->interval.high - effect->interval.low) / 2.0);
      all_have_cycles = all_have_cycles && each.cycles && each.first.cycles;
      if (!all_have_cycles) continue;
      cycles.add(each.first.cycles->value() * count, std::log(each.cycles->ratio),
                 std::log(each.cycles->high / each.cycles->low) / 2.0);
    }
    if (all_have_cycles) {
      total.cycles = ratio_of(cycles.effect());
      // Both clocks are for the same amount of work.
      total.first_clock = Hertz(cycles.first() / (times.first() * 1e-9));
      total.second_clock = Hertz(cycles.second() / (times.second() * 1e-9));
    }
    add(std::move(total), times.effect());
  }

  void add(TotalComparison total, const Effect& effect) {
    total.first_per_sample = per_sample(record_, 0, total.first.median);
    total.second_per_sample = per_sample(record_, alternative_, total.second.median);
    judge(total, effect, record_);
    record_.totals.push_back(std::move(total));
  }

  bool is_of_this(const Comparison& comparison) const {
    return comparison.alternative == alternative_ && is_alike(comparison.first.conditions, first_) &&
           is_alike(comparison.second.conditions, second_);
  }

  bool is_compared(std::size_t item) const {
    for (std::size_t i = 0; i < compared_.items.size(); ++i) {
      if (compared_.items[i] == item && compared_.effects[i] &&
          record_.comparisons[i].alternative == alternative_) {
        return true;
      }
    }
    return false;
  }

  // Returns the sums of both sides in one process, or nullopt if it lacks a layer that others have.
  std::optional<std::pair<Sum, Sum>> sums_of(const RunRecord& process) const {
    std::pair<Sum, Sum> sums;
    for (std::size_t item = 0; item < items_.items.size(); ++item) {
      if (!is_compared(item)) continue;
      const Result *a = items_.result_of(process, item, 0),
                   *b = items_.result_of(process, item, alternative_);
      if (a == nullptr || b == nullptr) return std::nullopt;
      const Measurement* of_first = measurement_of(*a, first_.load, first_.cache);
      const Measurement* of_second = measurement_of(*b, second_.load, second_.cache);
      if (of_first == nullptr || of_second == nullptr) return std::nullopt;
      const auto count = static_cast<double>(items_.items[item].count);
      sums.first.add(*of_first, count);
      sums.second.add(*of_second, count);
    }
    return sums;
  }

  const ComparisonItems& items_;
  std::span<const RunRecord> processes_;
  const ProcessEffects& compared_;
  ComparisonRecord& record_;
  std::size_t alternative_;
  Conditions first_, second_;
};

}  // namespace

void add_totals(const ComparisonItems& items, std::span<const RunRecord> processes,
                const ProcessEffects& compared, ComparisonRecord& record) {
  std::vector<const Comparison*> known;
  for (std::size_t alternative = 1; alternative < items.alternatives; ++alternative) {
    for (std::size_t i = 0; i < compared.effects.size(); ++i) {
      const Comparison& comparison = record.comparisons[i];
      if (comparison.alternative != alternative || !compared.effects[i]) continue;
      const auto same = [&](const Comparison* other) {
        return other->alternative == alternative &&
               is_alike(comparison.first.conditions, other->first.conditions) &&
               is_alike(comparison.second.conditions, other->second.conditions);
      };
      if (std::ranges::any_of(known, same)) continue;
      known.push_back(&comparison);
      Totaller(items, processes, compared, record, comparison).add();
    }
  }
}

}  // namespace jitterscope
