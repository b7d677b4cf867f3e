#include "experiment/comparison.hpp"

#include <algorithm>
#include <cmath>

#include "experiment/judgement.hpp"
#include "experiment/kept_rounds.hpp"
#include "experiment/processes.hpp"
#include "measure/estimate.hpp"
#include "statistics/statistics.hpp"

namespace jitterscope {
namespace {

using statistics::Effect;

double cycles_of_round(const Round& round) {
  return round.clock ? cycles_in(round.time(), *round.clock).value() : 0.0;
}

// Both sides of a comparison in one process.
struct ProcessPair {
  const Result *first_result, *second_result;
  const Measurement *first, *second;
};

// Rounds of a sustained load follow each other without the other side's between them: there a process has one
// ratio.
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

// For the same work: a launch of the second does `work` times as much as one of the first.
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
  for (const ProcessPair& pair : pairs) {
    const std::vector<Nanoseconds> own = settled_times(*(pair.*measurement));
    side.rounds.insert(side.rounds.end(), own.begin(), own.end());
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
    judge(record_.comparisons, effects_, record_.margin);
    keep_some_rounds(record_.comparisons);
    if (items_.items.size() < 2 || !items_.have_total) return;
    for (std::size_t alternative = 1; alternative < items_.alternatives; ++alternative)
      add_totals(alternative);
  }

 private:
  // Null where the process was interrupted before it.
  const Result* result_of(const RunRecord& process, std::size_t item, std::size_t alternative) const {
    const std::size_t place = item * items_.alternatives + alternative;
    return place < process.entries.size() ? &process.entries[place].result : nullptr;
  }

  void compare_item(std::size_t item, std::size_t alternative) {
    const Result *first = nullptr, *second = nullptr;
    std::string failure;
    for (const RunRecord& process : processes_) {
      const Result *a = result_of(process, item, 0), *b = result_of(process, item, alternative);
      if (a == nullptr || b == nullptr) continue;
      if (failure.empty()) failure = a->failure.empty() ? b->failure : a->failure;
      if (!a->failure.empty() || !b->failure.empty()) continue;
      // The process that came farthest: an interruption leaves conditions out.
      if (first == nullptr || conditions_of(*a, *b) > conditions_of(*first, *second)) {
        first = a;
        second = b;
      }
    }
    if (first == nullptr) {
      if (!failure.empty()) add(failed(item, alternative, failure), std::nullopt);
      return;
    }
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
      const Result *a = result_of(process, item, 0), *b = result_of(process, item, alternative);
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
      const Result *a = result_of(process, item, 0), *b = result_of(process, item, alternative);
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
    const std::optional<Effect> time = effect_of(pairs, time_ratios, work_of(record_, alternative));
    if (time) {
      fill(comparison, *time);
    } else {
      comparison.failure = "too few rounds beside each other for a ratio";
    }
    const std::optional<Effect> cycles = effect_of(pairs, cycles_ratios, work_of(record_, alternative));
    if (time && cycles && cycles->processes == time->processes) comparison.cycles = ratio_of(*cycles);
    if (time) compared_.emplace_back(item, alternative);
    add(std::move(comparison), time);
  }

  void add(Comparison comparison, const std::optional<Effect>& effect) {
    record_.comparisons.push_back(std::move(comparison));
    effects_.push_back(effect);
  }

  // Of the layers that can be compared, in the processes that timed all of these on both sides.
  void add_totals(std::size_t alternative) {
    std::vector<std::pair<Conditions, Conditions>> known;
    for (std::size_t i = 0; i < effects_.size(); ++i) {
      const Comparison& comparison = record_.comparisons[i];
      if (comparison.alternative != alternative || !effects_[i]) continue;
      const Conditions &first = comparison.first.conditions, &second = comparison.second.conditions;
      const auto same = [&](const auto& other) {
        return is_alike(first, other.first) && is_alike(second, other.second);
      };
      if (std::ranges::any_of(known, same)) continue;
      known.emplace_back(first, second);
      add_total(alternative, first, second);
    }
  }

  static bool is_alike(const Conditions& a, const Conditions& b) {
    return a.load == b.load && a.cache == b.cache;
  }

  void add_total(std::size_t alternative, const Conditions& first, const Conditions& second) {
    std::vector<ProcessTime> firsts, seconds;
    std::vector<std::vector<double>> ratios;
    for (const RunRecord& process : processes_) {
      const std::optional<std::pair<Nanoseconds, Nanoseconds>> sums =
          sums_of(process, alternative, first, second);
      if (!sums) continue;
      firsts.push_back({sums->first, {}, {}});
      seconds.push_back({sums->second, {}, {}});
      ratios.push_back({std::log(sums->second / sums->first / work_of(record_, alternative))});
    }
    if (ratios.size() == 1) return add_total_of_one(alternative, first, second);
    const std::optional<Effect> effect = statistics::effect_over_processes(ratios);
    if (!effect) return;
    TotalComparison total{.alternative = alternative, .load = first.load, .cache = first.cache};
    const auto rounds = std::ssize(ratios);
    total.first = estimate_over_processes(firsts, rounds);
    total.second = estimate_over_processes(seconds, rounds);
    judge(total, *effect, record_.margin);
    record_.totals.push_back(std::move(total));
  }

  // Of one process there is one sum: what each layer's ratio is off by in its blocks is the only scatter
  // known, and layers are measured apart, so that these errors add up as squares, each by its share of the
  // sum.
  void add_total_of_one(std::size_t alternative, const Conditions& first, const Conditions& second) {
    TotalComparison total{.alternative = alternative, .load = first.load, .cache = first.cache};
    double first_sum = 0.0, second_sum = 0.0, squares = 0.0;
    for (std::size_t i = 0; i < effects_.size(); ++i) {
      const Comparison& each = record_.comparisons[i];
      if (each.alternative != alternative || !effects_[i] || !is_alike(each.first.conditions, first) ||
          !is_alike(each.second.conditions, second)) {
        continue;
      }
      add_times(total.first, each.first.time, each.count);
      add_times(total.second, each.second.time, each.count);
      // By their paired ratios: medians of the two sides alone would let in what blocks differ by.
      const double first_time = each.first.time.median.value() * static_cast<double>(each.count);
      const double second_time = first_time * std::exp(effects_[i]->value);
      const double half = (effects_[i]->interval.high - effects_[i]->interval.low) / 2.0;
      first_sum += first_time;
      second_sum += second_time;
      squares += half * second_time * (half * second_time);
    }
    const double change = std::log(second_sum / first_sum), half = std::sqrt(squares) / second_sum;
    judge(total, statistics::effect_with_half_width(change, half), record_.margin);
    record_.totals.push_back(total);
  }

  // Of both sides in one process; nothing where it lacks a layer that others have.
  std::optional<std::pair<Nanoseconds, Nanoseconds>> sums_of(const RunRecord& process,
                                                             std::size_t alternative, const Conditions& first,
                                                             const Conditions& second) const {
    std::pair<Nanoseconds, Nanoseconds> sums;
    for (std::size_t item = 0; item < items_.items.size(); ++item) {
      if (std::ranges::find(compared_, std::pair(item, alternative)) == compared_.end()) continue;
      const Result *a = result_of(process, item, 0), *b = result_of(process, item, alternative);
      if (a == nullptr || b == nullptr) return std::nullopt;
      const Measurement* of_first = measurement_of(*a, first.load, first.cache);
      const Measurement* of_second = measurement_of(*b, second.load, second.cache);
      if (of_first == nullptr || of_second == nullptr) return std::nullopt;
      const auto count = static_cast<double>(items_.items[item].count);
      sums.first += of_first->time.median * count;
      sums.second += of_second->time.median * count;
    }
    return sums;
  }

  const ComparisonItems& items_;
  std::span<const RunRecord> processes_;
  ComparisonRecord& record_;
  std::vector<std::optional<Effect>> effects_;                 // of record_.comparisons
  std::vector<std::pair<std::size_t, std::size_t>> compared_;  // item and alternative of those that have one
};

}  // namespace

bool is_wrong(const Comparison& comparison) {
  const auto failed = [](const ComparedSide& side) {
    return side.verification && !side.verification->passed;
  };
  return failed(comparison.first) || failed(comparison.second);
}

std::vector<double> recorded_works(std::vector<double> works) {
  for (std::size_t i = works.size(); i-- > 0;) works[i] /= works.front();
  if (std::ranges::all_of(works, [](double each) { return each == 1.0; })) works.clear();
  return works;
}

double work_of(const ComparisonRecord& record, std::size_t alternative) {
  return alternative < record.works.size() ? record.works[alternative] / record.works.front() : 1.0;
}

void compare_processes(const ComparisonItems& items, std::span<const RunRecord> processes,
                       ComparisonRecord& record) {
  ProcessComparer(items, processes, record).compare();
}

}  // namespace jitterscope
