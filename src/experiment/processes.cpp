#include "experiment/processes.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "finding/finding.hpp"
#include "measure/estimate.hpp"
#include "statistics/effect.hpp"
#include "statistics/statistics.hpp"

namespace jitterscope {
namespace {

std::size_t settled_round(const Measurement& measurement) {
  return measurement.steadiness ? measurement.steadiness->settled_round : 0;
}

// Combines a measurement of all processes; of sustained loads the settled parts, as the rest differs.
Measurement combine(const std::vector<const Measurement*>& measurements) {
  Measurement all = *measurements.front();
  if (measurements.size() == 1) return all;
  all.rounds.clear();
  all.duration = Nanoseconds(0);
  for (const Measurement* measurement : measurements) {
    const auto process = static_cast<std::int64_t>(all.processes.size());
    all.processes.push_back(process_time(*measurement));
    for (std::size_t i = settled_round(*measurement); i < measurement->rounds.size(); ++i) {
      all.rounds.push_back(measurement->rounds[i]);
      all.rounds.back().process = process;
    }
    all.duration += measurement->duration;
    all.is_placed_anew = all.is_placed_anew && measurement->is_placed_anew;
    if (!has_settled(*measurement) && has_settled(all)) all.steadiness = measurement->steadiness;
    if (measurement->stop_reason != StopReason::precision) all.stop_reason = measurement->stop_reason;
  }
  if (all.steadiness) all.steadiness->settled_round = 0;
  summarise(all, 0);
  all.repeatability = measurements.front()->repeatability;
  all.time = estimate_over_processes(all.processes, static_cast<std::int64_t>(all.rounds.size()));
  all.uncertainty = {.rounds = {}, .processes = (all.time.high - all.time.low) / 2.0, .instrument = {}};
  std::vector<double> medians;
  for (const ProcessTime& process : all.processes) medians.push_back(process.median.value());
  const double spread = statistics::standard_deviation(medians) / all.time.median.value();
  all.process_variation = {spread, spread, std::ssize(medians) - 1};
  return all;
}

// Returns the rounds of one measurement that have the finding.
std::vector<RoundRange> ranges_in(const Measurement& own, const Result& result, const std::string& id) {
  std::vector<RoundRange> ranges;
  for (const Finding& finding : result.findings) {
    if (finding.id != id) continue;
    for (const FindingPlace& place : finding.places) {
      const bool is_here =
          place.measurement < result.measurements.size() && &result.measurements[place.measurement] == &own;
      if (is_here) ranges.insert(ranges.end(), place.rounds.begin(), place.rounds.end());
    }
  }
  return ranges;
}

// Returns the rounds of a finding in all processes, numbered as combine() concatenates them.
FindingPlace place_in_all(const std::string& id, const std::vector<const Result*>& results,
                          const Conditions& conditions) {
  FindingPlace place;
  std::vector<std::pair<const Result*, const Measurement*>> owners;
  for (const Result* result : results) {
    const Measurement* own = measurement_of(*result, conditions.load, conditions.cache);
    if (own != nullptr) owners.emplace_back(result, own);
  }
  std::size_t before = 0;
  for (const auto& [result, own] : owners) {
    const std::size_t settled = owners.size() > 1 ? settled_round(*own) : 0;  // earlier rounds are not kept
    for (const RoundRange& range : ranges_in(*own, *result, id)) {
      if (range.last < settled || range.last >= own->rounds.size()) continue;
      place.rounds.push_back(
          {before + std::max(range.first, settled) - settled, before + range.last - settled});
    }
    before += own->rounds.size() - std::min(settled, own->rounds.size());
  }
  return place;
}

std::vector<FindingPlace> places_in_all(const std::string& id, const std::vector<const Result*>& results,
                                        const std::vector<Measurement>& combined) {
  std::vector<FindingPlace> places;
  for (std::size_t number = 0; number < combined.size(); ++number) {
    FindingPlace place = place_in_all(id, results, combined[number].conditions);
    place.measurement = number;
    if (!place.rounds.empty()) places.push_back(std::move(place));
  }
  return places;
}

// Returns findings of at least half of the processes. Imprecision is none: this interval is over processes.
std::vector<Finding> common_findings(const std::vector<const Result*>& results) {
  std::vector<Finding> common;
  for (const Result* result : results) {
    for (const Finding& finding : result->findings) {
      const auto is_same = [&](const Finding& other) { return other.id == finding.id; };
      const auto times = std::ranges::count_if(
          results, [&](const Result* each) { return std::ranges::any_of(each->findings, is_same); });
      const bool is_known = std::ranges::any_of(common, is_same);
      if (!is_known && finding.id != kImpreciseFinding && 2 * times >= std::ssize(results)) {
        common.push_back(finding);
      }
    }
  }
  return common;
}

// Returns a failed verification if any process has one: the others do not make it good.
const std::optional<Verification>& worst_verification(const std::vector<const Result*>& results) {
  const auto wrong = std::ranges::find_if(
      results, [](const Result* result) { return result->verification && !result->verification->passed; });
  return (wrong == results.end() ? results.front() : *wrong)->verification;
}

Result combine(const std::vector<const Result*>& results) {
  Result all = *results.front();
  all.measurements.clear();
  all.verification = worst_verification(results);
  // A process that was interrupted lacks conditions.
  const Result* longest = *std::ranges::max_element(
      results, {}, [](const Result* result) { return result->measurements.size(); });
  for (const Measurement& first : longest->measurements) {
    std::vector<const Measurement*> same;
    for (const Result* result : results) {
      const Measurement* found = measurement_of(*result, first.conditions.load, first.conditions.cache);
      if (found != nullptr) same.push_back(found);
    }
    all.measurements.push_back(combine(same));
  }
  all.findings = common_findings(results);
  if (results.size() > 1) {
    for (Finding& finding : all.findings) {
      finding.places = places_in_all(finding.id, results, all.measurements);
    }
  }
  return all;
}

}  // namespace

ProcessTime process_time(const Measurement& measurement) {
  return {measurement.time.median,
          measurement.clock ? std::optional(measurement.clock->median) : std::nullopt, measurement.cycles};
}

TimeEstimate estimate_over_processes(std::span<const ProcessTime> processes, std::int64_t rounds) {
  std::vector<double> medians;
  for (const ProcessTime& process : processes) medians.push_back(process.median.value());
  const statistics::MeanInterval mean = statistics::mean_interval(medians);
  return {Nanoseconds(mean.mean), Nanoseconds(std::max(0.0, mean.interval.low)),
          Nanoseconds(mean.interval.high), rounds};
}

const Measurement* measurement_of(const Result& result, Load load, CacheState cache) {
  const auto found = std::ranges::find_if(result.measurements, [&](const Measurement& measurement) {
    return measurement.conditions.load == load && measurement.conditions.cache == cache;
  });
  return found == result.measurements.end() ? nullptr : &*found;
}

TimeEstimate estimate_over_groups(std::span<const double> nanoseconds, std::int64_t rounds) {
  std::vector<ProcessTime> groups;
  for (const double value : nanoseconds) groups.push_back({Nanoseconds(value), {}, {}});
  return estimate_over_processes(groups, rounds);
}

std::optional<RatioEstimate> ratio_over_groups(std::span<const double> logarithms) {
  if (logarithms.size() < 2) return std::nullopt;
  std::vector<std::vector<double>> groups;
  for (const double logarithm : logarithms) groups.push_back({logarithm});
  const auto effect = statistics::effect_over_processes(groups);
  if (!effect) return std::nullopt;
  return RatioEstimate{std::exp(effect->value), std::exp(effect->interval.low),
                       std::exp(effect->interval.high)};
}

const Result* result_of(const RunRecord& record, const std::string& subject) {
  for (const RunEntry& entry : record.entries)
    if (to_string(entry.result.subject) == subject) return &entry.result;
  return nullptr;
}

std::string failure_of(std::span<const std::vector<RunRecord>> groups, const std::string& subject) {
  for (const std::vector<RunRecord>& ranks : groups) {
    for (const RunRecord& rank : ranks) {
      const Result* result = result_of(rank, subject);
      if (result != nullptr && !result->failure.empty()) return result->failure;
    }
  }
  return "no time was measured";
}

const Measurement* measurement_of(const RunRecord& record, const std::string& subject, Load load) {
  const Result* result = result_of(record, subject);
  const Measurement* found = result == nullptr ? nullptr : measurement_of(*result, load, CacheState::warm);
  return found != nullptr && found->time.rounds > 0 ? found : nullptr;
}

std::optional<Nanoseconds> time_of_group(std::span<const RunRecord> ranks, const std::string& subject,
                                         Load load) {
  std::vector<double> times;
  for (const RunRecord& rank : ranks) {
    const Measurement* measurement = measurement_of(rank, subject, load);
    if (measurement == nullptr) return std::nullopt;
    times.push_back(measurement->time.median.value());
  }
  return times.empty() ? std::nullopt : std::optional(Nanoseconds(statistics::median(times)));
}

RunRecord combine_processes(std::vector<RunRecord> processes) {
  const auto longest =
      std::ranges::max_element(processes, {}, [](const RunRecord& record) { return record.entries.size(); });
  RunRecord all = std::move(processes.front());
  if (processes.size() == 1) return all;
  processes.front().entries = all.entries;
  all.entries.clear();
  for (std::size_t i = 0; i < longest->entries.size(); ++i) {
    std::vector<const Result*> results;
    const RunEntry* known = nullptr;
    for (const RunRecord& process : processes) {
      if (i >= process.entries.size()) continue;
      known = &process.entries[i];
      if (known->result.failure.empty()) results.push_back(&known->result);
    }
    RunEntry entry = *known;
    if (!results.empty()) entry.result = combine(results);
    all.entries.push_back(std::move(entry));
  }
  for (const RunRecord& process : processes) all.interrupted = all.interrupted || process.interrupted;
  return all;
}

}  // namespace jitterscope
