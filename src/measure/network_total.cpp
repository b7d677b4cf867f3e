#include "measure/network_total.hpp"

#include <algorithm>
#include <limits>

#include "measure/run_results.hpp"

namespace jitterscope {
namespace {

// What waits for the device runs eagerly where the rest is saturated. Its time stands beside theirs, and is
// part of a network's total; a finding says what it is.
bool is_time_under(const Conditions& wanted, const Result& result, const Measurement& measurement) {
  Conditions as_run = wanted;
  if (result.waits_for_device && wanted.queue == QueueMode::saturated) as_run.queue = QueueMode::eager;
  return measurement.conditions == wanted || measurement.conditions == as_run;
}

NetworkTotal total_in(const RunRecord& record, const Conditions& conditions) {
  NetworkTotal total{.conditions = conditions, .time = {}};
  Nanoseconds low, high;
  bool has_all_intervals = true;
  for (const RunEntry& entry : record.entries) {
    total.calls += entry.count;
    const Measurement* measurement = find_measurement(entry.result, conditions);
    if (measurement == nullptr || measurement->time.rounds == 0) continue;
    total.timed_calls += entry.count;
    const TimeEstimate& time = measurement->time;
    const auto count = static_cast<double>(entry.count);
    has_all_intervals = has_all_intervals && has_interval(time);
    total.time += count * time.median;
    low += count * (time.low - instrument_error(*measurement));
    high += count * (time.high + instrument_error(*measurement));
  }
  if (has_all_intervals && total.timed_calls > 0) {
    total.low = low;
    total.high = high;
  }
  return total;
}

}  // namespace

bool is_network(const RunRecord& record) {
  return std::ranges::any_of(record.entries,
                             [](const RunEntry& entry) { return !entry.layers.empty() || entry.count > 1; });
}

std::vector<Conditions> distinct_conditions(const RunRecord& record) {
  std::vector<Conditions> all;
  for (const bool waiting : {false, true}) {
    for (const Result& result : results_of(record)) {
      if (result.waits_for_device != waiting) continue;
      for (const Measurement& measurement : result.measurements) {
        const auto is_there = [&](const Conditions& known) {
          return is_time_under(known, result, measurement);
        };
        if (std::ranges::none_of(all, is_there)) all.push_back(measurement.conditions);
      }
    }
  }
  return all;
}

const Measurement* find_measurement(const Result& result, const Conditions& conditions) {
  const auto found = std::ranges::find_if(result.measurements, [&](const Measurement& measurement) {
    return is_time_under(conditions, result, measurement);
  });
  return found == result.measurements.end() ? nullptr : &*found;
}

std::vector<NetworkTotal> network_totals(const RunRecord& record) {
  std::vector<NetworkTotal> totals;
  for (const Conditions& conditions : distinct_conditions(record)) {
    totals.push_back(total_in(record, conditions));
  }
  return totals;
}

TimeEstimate estimate_of(const NetworkTotal& total) {
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  return {.median = total.time,
          .low = total.low.value_or(Nanoseconds(kNone)),
          .high = total.high.value_or(Nanoseconds(kNone)),
          .rounds = std::numeric_limits<std::int64_t>::max()};
}

double TimedPart::share() const {
  return of_gpu_time.value_or(static_cast<double>(calls) / static_cast<double>(of_calls));
}

std::optional<TimedPart> timed_part(const RunRecord& record) {
  if (record.untimed.empty()) return std::nullopt;
  TimedPart part;
  Nanoseconds untimed;
  for (const RunEntry& entry : record.entries) {
    if (!entry.result.measurements.empty()) part.calls += entry.count;
    part.of_calls += entry.count;
  }
  if (part.calls == 0) return std::nullopt;
  for (const UntimedOperator& each : record.untimed) {
    part.of_calls += each.count;
    untimed += each.recorded_time.value_or(Nanoseconds(0));
  }
  if (record.recorded_gpu_time && *record.recorded_gpu_time > Nanoseconds(0))
    part.of_gpu_time = std::max(0.0, 1.0 - untimed / *record.recorded_gpu_time);
  return part;
}

std::optional<TimedPart> smaller_timed_part(const RunRecord& record) {
  constexpr double kHalf = 0.5;
  const std::optional<TimedPart> part = timed_part(record);
  return part && part->share() < kHalf ? part : std::nullopt;
}

std::vector<std::optional<double>> shares_of_total(const RunRecord& record, const Conditions& conditions) {
  const Nanoseconds total = total_in(record, conditions).time;
  std::vector<std::optional<double>> shares;
  for (const RunEntry& entry : record.entries) {
    const Measurement* measurement = find_measurement(entry.result, conditions);
    shares.emplace_back();
    if (measurement == nullptr) continue;
    shares.back() = static_cast<double>(entry.count) * measurement->time.median / total;
  }
  return shares;
}

}  // namespace jitterscope
