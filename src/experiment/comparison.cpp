#include "experiment/comparison.hpp"

#include <algorithm>
#include <cmath>

#include "experiment/ignored_engines.hpp"
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
    failure = ignored_engine(*first, *second);
    if (!failure.empty()) return add(failed(item, alternative, failure), std::nullopt);
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
    comparison.resolution = resolution_of(*pairs.front().first, *pairs.front().second, Beside::same_process);
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
    std::vector<std::vector<double>> ratios, cycles_ratios;
    double first_cycles = 0.0, second_cycles = 0.0, first_time = 0.0, second_time = 0.0;
    const double work = work_of(record_, alternative);
    for (const RunRecord& process : processes_) {
      const std::optional<std::pair<Sum, Sum>> sums = sums_of(process, alternative, first, second);
      if (!sums) continue;
      firsts.push_back({sums->first.time, {}, {}});
      seconds.push_back({sums->second.time, {}, {}});
      ratios.push_back({std::log(sums->second.time / sums->first.time / work)});
      if (!sums->first.cycles || !sums->second.cycles) continue;
      cycles_ratios.push_back({std::log(*sums->second.cycles / *sums->first.cycles / work)});
      first_cycles += *sums->first.cycles;
      second_cycles += *sums->second.cycles;
      first_time += to_seconds(sums->first.time);
      second_time += to_seconds(sums->second.time);
    }
    if (ratios.size() == 1) return add_total_of_one(alternative, first, second);
    const std::optional<Effect> effect = statistics::effect_over_processes(ratios);
    if (!effect) return;
    TotalComparison total{.alternative = alternative, .load = first.load, .cache = first.cache};
    const auto rounds = std::ssize(ratios);
    total.first = estimate_over_processes(firsts, rounds);
    total.second = estimate_over_processes(seconds, rounds);
    const std::optional<Effect> in_cycles = cycles_ratios.size() == ratios.size()
                                                ? statistics::effect_over_processes(cycles_ratios)
                                                : std::nullopt;
    if (in_cycles) {
      total.cycles = ratio_of(*in_cycles);
      total.first_clock = Hertz(first_cycles / first_time);
      total.second_clock = Hertz(second_cycles / second_time);
    }
    judge(total, *effect, record_);
    record_.totals.push_back(std::move(total));
  }

  // Of one process there is one sum: what each layer's ratio is off by in its blocks is the only scatter
  // known, and layers are measured apart, so that these errors add up as squares, each by its share of the
  // sum.
  class SumOfOne {
   public:
    /// A layer's amount on the first side in all its calls, and the logarithm of the second's over it.
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

  void add_total_of_one(std::size_t alternative, const Conditions& first, const Conditions& second) {
    TotalComparison total{.alternative = alternative, .load = first.load, .cache = first.cache};
    SumOfOne times, cycles;
    bool all_have_cycles = true;
    for (std::size_t i = 0; i < effects_.size(); ++i) {
      const Comparison& each = record_.comparisons[i];
      if (each.alternative != alternative || !effects_[i] || !is_alike(each.first.conditions, first) ||
          !is_alike(each.second.conditions, second)) {
        continue;
      }
      add_times(total.first, each.first.time, each.count);
      add_times(total.second, each.second.time, each.count);
      // By their paired ratios: medians of the two sides alone would let in what blocks differ by.
      const auto count = static_cast<double>(each.count);
      times.add(each.first.time.median.value() * count, effects_[i]->value,
                (effects_[i]->interval.high - effects_[i]->interval.low) / 2.0);
      all_have_cycles = all_have_cycles && each.cycles && each.first.cycles;
      if (!all_have_cycles) continue;
      cycles.add(each.first.cycles->value() * count, std::log(each.cycles->ratio),
                 std::log(each.cycles->high / each.cycles->low) / 2.0);
    }
    if (all_have_cycles) {
      total.cycles = ratio_of(cycles.effect());
      // Both in units of the same work.
      total.first_clock = Hertz(cycles.first() / (times.first() * 1e-9));
      total.second_clock = Hertz(cycles.second() / (times.second() * 1e-9));
    }
    judge(total, times.effect(), record_);
    record_.totals.push_back(total);
  }

  // All layers of a side, in one process.
  struct Sum {
    Nanoseconds time;
    std::optional<double> cycles = 0.0;  // nothing where the clock of a layer is not known

    void add(const Measurement& measurement, double count) {
      time += measurement.time.median * count;
      const std::optional<Cycles> own = process_time(measurement).cycles;
      cycles = cycles && own ? std::optional(*cycles + own->value() * count) : std::nullopt;
    }
  };

  // Of both sides in one process; nothing where it lacks a layer that others have.
  std::optional<std::pair<Sum, Sum>> sums_of(const RunRecord& process, std::size_t alternative,
                                             const Conditions& first, const Conditions& second) const {
    std::pair<Sum, Sum> sums;
    for (std::size_t item = 0; item < items_.items.size(); ++item) {
      if (std::ranges::find(compared_, std::pair(item, alternative)) == compared_.end()) continue;
      const Result *a = result_of(process, item, 0), *b = result_of(process, item, alternative);
      if (a == nullptr || b == nullptr) return std::nullopt;
      const Measurement* of_first = measurement_of(*a, first.load, first.cache);
      const Measurement* of_second = measurement_of(*b, second.load, second.cache);
      if (of_first == nullptr || of_second == nullptr) return std::nullopt;
      const auto count = static_cast<double>(items_.items[item].count);
      sums.first.add(*of_first, count);
      sums.second.add(*of_second, count);
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

const LeftOutLayers* left_out_of(const ComparisonRecord& record, std::size_t alternative) {
  const auto found = std::ranges::find(record.left_out, alternative, &LeftOutLayers::alternative);
  return found == record.left_out.end() ? nullptr : &*found;
}

bool is_whole(const ComparisonRecord& record, const TotalComparison& total) {
  if (left_out_of(record, 0) || left_out_of(record, total.alternative)) return false;
  return std::ranges::none_of(record.comparisons, [&](const Comparison& each) {
    return each.alternative == total.alternative && !each.failure.empty();
  });
}

double resolution_of(const ComparisonRecord& record, const TotalComparison& total) {
  double time = 0.0, weighted = 0.0;
  for (const Comparison& each : record.comparisons) {
    const Conditions& own = each.first.conditions;
    const bool is_in = each.failure.empty() && own.load == total.load && own.cache == total.cache;
    if (each.alternative != total.alternative || !is_in) continue;
    const double all = each.first.time.median.value() * static_cast<double>(each.count);
    time += all;
    weighted += all * each.resolution;
  }
  return time > 0.0 ? weighted / time : 0.0;
}

bool is_below_resolution(double margin, const RatioEstimate& time, double resolution) {
  return margin < resolution && std::abs(std::log(time.ratio)) < resolution;
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
  note_ignored_engines(processes, items.alternatives, record);
}

}  // namespace jitterscope
