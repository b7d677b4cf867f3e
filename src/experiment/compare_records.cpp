// Two records that were measured apart.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "experiment/comparison.hpp"
#include "experiment/judgement.hpp"
#include "experiment/kept_rounds.hpp"
#include "experiment/processes.hpp"
#include "experiment/record_differences.hpp"
#include "jitterscope/error.hpp"
#include "statistics/statistics.hpp"

namespace jitterscope {
namespace {

using statistics::Effect;

double relative_half(const TimeEstimate& time) { return (time.high - time.low) / time.median / 2.0; }

// Both intervals hold what processes differ by, so that their errors are independent.
std::optional<Effect> effect_of(const TimeEstimate& first, const TimeEstimate& second) {
  if (!std::isfinite(first.precision()) || !std::isfinite(second.precision())) return std::nullopt;
  return statistics::effect_with_half_width(std::log(second.median / first.median),
                                            std::hypot(relative_half(first), relative_half(second)));
}

// A value of each process; nothing where one of them lacks it, or where there is but one.
using ProcessValues = std::optional<std::vector<double>>;

ProcessValues times_of(const Measurement& measurement) {
  if (measurement.processes.size() < 2) return std::nullopt;
  std::vector<double> values;
  for (const ProcessTime& process : measurement.processes) values.push_back(process.median.value());
  return values;
}

ProcessValues cycles_of(const Measurement& measurement) {
  if (measurement.processes.size() < 2) return std::nullopt;
  std::vector<double> values;
  for (const ProcessTime& process : measurement.processes) {
    if (!process.cycles) return std::nullopt;
    values.push_back(process.cycles->value());
  }
  return values;
}

std::optional<Effect> effect_of(const ProcessValues& first, const ProcessValues& second) {
  const auto are_positive = [](const ProcessValues& values) {
    return values && std::ranges::all_of(*values, [](double value) { return value > 0.0; });
  };
  if (!are_positive(first) || !are_positive(second)) return std::nullopt;
  const auto logarithms = [](std::vector<double> values) {
    for (double& value : values) value = std::log(value);
    return values;
  };
  return statistics::effect_between_groups(logarithms(*first), logarithms(*second));
}

// What the processes say where both records have several, else what the two intervals say.
std::optional<Effect> effect_of(const Measurement& first, const Measurement& second) {
  const std::optional<Effect> over_processes = effect_of(times_of(first), times_of(second));
  return over_processes ? over_processes : effect_of(first.time, second.time);
}

double mean_of(const std::vector<double>& values) { return statistics::mean_interval(values).mean; }

bool share_a_layer(const RunEntry& first, const RunEntry& second) {
  return std::ranges::any_of(first.layers, [&](const std::string& name) {
    return std::ranges::find(second.layers, name) != second.layers.end();
  });
}

std::string contents(const RunRecord& record) {
  if (record.entries.empty()) return "nothing that was timed";
  std::string first = to_string(record.entries.front().result.subject);
  if (record.entries.size() == 1) return first;
  return fmt::format("{} and {} more", first, record.entries.size() - 1);
}

// The measurements of a comparison; null where it failed.
struct Sides {
  const Measurement *first = nullptr, *second = nullptr;
};

// The sums over layers that each process found. A process that lacks a layer has none.
class ProcessSums {
 public:
  void add(const ProcessValues& first, const ProcessValues& second, std::int64_t count) {
    add_to(first_, first, count);
    add_to(second_, second, count);
    is_first_ = false;
  }
  const ProcessValues& first() const { return first_; }
  const ProcessValues& second() const { return second_; }

 private:
  void add_to(ProcessValues& sums, const ProcessValues& values, std::int64_t count) const {
    if (is_first_ && values) sums.emplace(values->size(), 0.0);
    if (!sums || !values || sums->size() != values->size()) return sums.reset();
    for (std::size_t i = 0; i < sums->size(); ++i) (*sums)[i] += (*values)[i] * static_cast<double>(count);
  }

  ProcessValues first_, second_;
  bool is_first_ = true;
};

class RecordComparer {
 public:
  RecordComparer(ComparisonRecord& record, Judging judging)
      : record_(record), differences_(record.differences), judging_(judging) {}

  void compare(const RunRecord& first, const RunRecord& second) {
    record_.differences = machine_differences(first, second);
    const std::vector<EntryPair> pairs = entries_in_common(first, second);
    for (const EntryPair& pair : pairs) compare_entries(*pair.first, *pair.second);
    if (record_.comparisons.empty()) {
      throw UsageError(fmt::format(
          "the two records have no operation in common that both timed in the same cache state and "
          "under the same load: the first has {}, the second {}",
          contents(first), contents(second)));
    }
    judge(record_.comparisons, effects_, record_.margin, judging_);
    keep_some_rounds(record_.comparisons);
    add_totals();
    note_what_is_left(first, second, pairs.size());
  }

 private:
  void compare_entries(const RunEntry& first, const RunEntry& second) {
    if (!first.result.failure.empty() || !second.result.failure.empty()) return add_failure(first, second);
    const bool same_subject = first.result.subject == second.result.subject;
    for (const Measurement& a : first.result.measurements) {
      const Measurement* b = measurement_of(second.result, a.conditions.load, a.conditions.cache);
      if (b == nullptr) continue;
      if (!same_subject) {
        differences_.compare("operation", to_string(first.result.subject), to_string(second.result.subject),
                             true);
      }
      compare_conditions(first, a, second, *b, differences_);
      Comparison comparison{.layers = first.layers, .count = first.count};
      comparison.first = side_of(first.result, a);
      comparison.second = side_of(second.result, *b);
      const std::optional<Effect> effect = effect_of(a, *b);
      if (effect) {
        comparison.time = ratio_of(*effect);
        comparison.processes = effect->processes;
        comparison.p_value = effect->p_value;
        const std::optional<Effect> cycles = effect_of(cycles_of(a), cycles_of(*b));
        if (cycles) comparison.cycles = ratio_of(*cycles);
      } else {
        comparison.failure = "one of the two has too few rounds for an interval";
      }
      add(std::move(comparison), effect, {&a, b});
    }
  }

  void add(Comparison comparison, const std::optional<Effect>& effect, const Sides& sides) {
    effects_.push_back(effect);
    sides_.push_back(sides);
    record_.comparisons.push_back(std::move(comparison));
  }

  void add_failure(const RunEntry& first, const RunEntry& second) {
    const bool in_first = !first.result.failure.empty();
    Comparison comparison{.layers = first.layers, .count = first.count};
    comparison.first.subject = first.result.subject;
    comparison.second.subject = second.result.subject;
    comparison.failure = fmt::format("it failed in the {} record: {}", in_first ? "first" : "second",
                                     (in_first ? first : second).result.failure);
    add(std::move(comparison), std::nullopt, {});
  }

  // Of layers, of which there are several: what was typed makes no whole.
  void add_totals() {
    std::vector<Conditions> known;
    for (std::size_t i = 0; i < effects_.size(); ++i) {
      const Comparison& comparison = record_.comparisons[i];
      const auto same = [&](const Conditions& other) {
        return other.load == comparison.first.conditions.load &&
               other.cache == comparison.first.conditions.cache;
      };
      if (!effects_[i] || comparison.layers.empty() || std::ranges::any_of(known, same)) continue;
      known.push_back(comparison.first.conditions);
      add_total(known.back());
    }
  }

  void add_total(const Conditions& conditions) {
    TotalComparison total{.load = conditions.load, .cache = conditions.cache};
    ProcessSums times, cycles;
    std::size_t layers = 0;
    for (std::size_t i = 0; i < effects_.size(); ++i) {
      const Comparison& comparison = record_.comparisons[i];
      const Conditions& own = comparison.first.conditions;
      if (!effects_[i] || own.load != conditions.load || own.cache != conditions.cache) continue;
      add_times(total.first, comparison.first.time, comparison.count);
      add_times(total.second, comparison.second.time, comparison.count);
      times.add(times_of(*sides_[i].first), times_of(*sides_[i].second), comparison.count);
      cycles.add(cycles_of(*sides_[i].first), cycles_of(*sides_[i].second), comparison.count);
      ++layers;
    }
    if (layers < 2) return;
    const std::optional<Effect> over_processes = effect_of(times.first(), times.second());
    const std::optional<Effect> effect =
        over_processes ? over_processes : effect_of(total.first, total.second);
    if (!effect) return;
    judge(total, *effect, record_.margin, judging_);
    if (over_processes) add_what_processes_know(total, times, cycles);
    record_.totals.push_back(total);
  }

  // Of all layers together: intervals of the sums, cycles, and the clock that these had.
  static void add_what_processes_know(TotalComparison& total, const ProcessSums& times,
                                      const ProcessSums& cycles) {
    total.first = interval_of(*times.first(), total.first.rounds);
    total.second = interval_of(*times.second(), total.second.rounds);
    const std::optional<Effect> in_cycles = effect_of(cycles.first(), cycles.second());
    if (!in_cycles) return;
    total.cycles = ratio_of(*in_cycles);
    total.first_clock = clock_of(*cycles.first(), total.first.median);
    total.second_clock = clock_of(*cycles.second(), total.second.median);
  }

  static TimeEstimate interval_of(const std::vector<double>& sums, std::int64_t rounds) {
    std::vector<ProcessTime> processes;
    for (const double sum : sums) processes.push_back({Nanoseconds(sum), {}, {}});
    return estimate_over_processes(processes, rounds);
  }

  static Hertz clock_of(const std::vector<double>& cycles, Nanoseconds time) {
    return Hertz(mean_of(cycles) / to_seconds(time));
  }

  void note_what_is_left(const RunRecord& first, const RunRecord& second, std::size_t pairs) {
    const auto note = [&](const RunRecord& record, const char* which) {
      if (record.entries.size() <= pairs) return;
      record_.notes.push_back(
          fmt::format("{} of the {} operations of the {} record have no partner in the other.",
                      record.entries.size() - pairs, record.entries.size(), which));
    };
    note(first, "first");
    note(second, "second");
  }

  ComparisonRecord& record_;
  DifferenceList differences_;
  Judging judging_;
  std::vector<std::optional<Effect>> effects_;  // of record_.comparisons
  std::vector<Sides> sides_;                    // likewise
};

}  // namespace

std::vector<EntryPair> entries_in_common(const RunRecord& first, const RunRecord& second) {
  std::vector<EntryPair> pairs;
  for (const RunEntry& a : first.entries) {
    auto found = std::ranges::find_if(
        second.entries, [&](const RunEntry& b) { return a.result.subject == b.result.subject; });
    if (found == second.entries.end()) {
      found = std::ranges::find_if(second.entries, [&](const RunEntry& b) { return share_a_layer(a, b); });
    }
    if (found != second.entries.end()) pairs.push_back({&a, &*found});
  }
  if (pairs.empty() && first.entries.size() == 1 && second.entries.size() == 1) {
    pairs.push_back({&first.entries.front(), &second.entries.front()});
  }
  return pairs;
}

void compare_records(const RunRecord& first, const RunRecord& second, ComparisonRecord& record,
                     Judging judging) {
  RecordComparer(record, judging).compare(first, second);
}

}  // namespace jitterscope
