// Trials that were timed beside each other, in several processes.
#include <algorithm>
#include <cmath>

#include "experiment/comparison.hpp"
#include "experiment/ignored_engines.hpp"
#include "experiment/judgement.hpp"
#include "experiment/kept_rounds.hpp"
#include "experiment/process_totals.hpp"
#include "experiment/processes.hpp"
#include "experiment/unlike_work.hpp"
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
    if (items_.items.size() > 1 && items_.have_total) add_totals(items_, processes_, compared_, record_);
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
      // The process that came farthest: an interruption leaves conditions out.
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
  note_only_moved(record);
}

}  // namespace jitterscope
