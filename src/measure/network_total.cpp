#include "measure/network_total.hpp"

#include <algorithm>

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
