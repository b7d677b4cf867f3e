#include "experiment/process_totals.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "experiment/judgement.hpp"
#include "experiment/processes.hpp"
#include "statistics/statistics.hpp"

namespace jitterscope {
namespace {

using statistics::Effect;

bool is_alike(const Conditions& a, const Conditions& b) { return a.load == b.load && a.cache == b.cache; }

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

// The total of an alternative under one load and in one cache state of each side.
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
    judge(total, *effect, record_);
    record_.totals.push_back(std::move(total));
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
      // By their paired ratios: medians of the two sides alone would let in what blocks differ by.
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
      // Both in units of the same work.
      total.first_clock = Hertz(cycles.first() / (times.first() * 1e-9));
      total.second_clock = Hertz(cycles.second() / (times.second() * 1e-9));
    }
    judge(total, times.effect(), record_);
    record_.totals.push_back(total);
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

  // Of both sides in one process; nothing where it lacks a layer that others have.
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
