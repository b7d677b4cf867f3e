#include "measure/rates_and_totals.hpp"

#include <algorithm>
#include <limits>

#include "measure/run_record.hpp"

namespace jitterscope {
namespace {

// True if the measurement counts here. Launches that wait for the device run eagerly while others are
// saturated: their time stands beside the others' and in a network's total; a finding tells.
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
    add_calls(total.calls, entry.count);
    const Measurement* measurement = find_measurement(entry.result, conditions);
    if (measurement == nullptr || measurement->time.rounds == 0) continue;
    add_calls(total.timed_calls, entry.count);
    const TimeEstimate& time = measurement->time;
    const auto count = static_cast<double>(entry.count);
    has_all_intervals = has_all_intervals && has_interval(time);
    total.time += count * time.median;
    low += count * time.low;
    high += count * time.high;
    total.instrument_error += count * instrument_error(*measurement);
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

std::optional<Nanoseconds> instrument_error_beside(const TimeEstimate& time, Nanoseconds error) {
  const bool is_larger = error > (time.high - time.low) / 2.0;
  return is_larger ? std::optional(error) : std::nullopt;
}

double TimedPart::share() const {
  return of_gpu_time.value_or(static_cast<double>(calls) / static_cast<double>(of_calls));
}

std::optional<TimedPart> timed_part(const RunRecord& record) {
  if (record.untimed.empty()) return std::nullopt;
  TimedPart part;
  Nanoseconds untimed;
  for (const RunEntry& entry : record.entries) {
    if (!entry.result.measurements.empty()) add_calls(part.calls, entry.count);
    add_calls(part.of_calls, entry.count);
  }
  if (part.calls == 0) return std::nullopt;
  for (const UntimedOperator& each : record.untimed) {
    add_calls(part.of_calls, each.count);
    untimed += each.recorded_time.value_or(Nanoseconds(0));
  }
  if (record.recorded_gpu_time && *record.recorded_gpu_time > Nanoseconds(0))
    part.of_gpu_time = std::max(0.0, 1.0 - untimed / *record.recorded_gpu_time);
  return part;
}

namespace {

// An operator that cannot be timed is none that the run has missed.
bool is_missed(const UntimedOperator& each, const RunRecord& record) {
  return each.is_unreached.value_or(record.interrupted);
}

}  // namespace

bool ended_early(const RunRecord& record) {
  return std::ranges::any_of(record.untimed,
                             [&](const UntimedOperator& each) { return is_missed(each, record); });
}

std::int64_t calls_to_time(const RunRecord& record) {
  std::int64_t calls = 0;
  for (const RunEntry& entry : record.entries) add_calls(calls, entry.count);
  for (const UntimedOperator& each : record.untimed) {
    if (is_missed(each, record)) add_calls(calls, each.count);
  }
  return calls;
}

std::optional<TimedPart> smaller_timed_part(const RunRecord& record) {
  constexpr double kHalf = 0.5;
  const std::optional<TimedPart> part = timed_part(record);
  return part && (ended_early(record) || part->share() < kHalf) ? part : std::nullopt;
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

namespace {

std::optional<double> compute_ceiling(const Result& result, const Ceilings& ceilings) {
  const Operation* operation = operation_of(result.subject);
  if (operation == nullptr) return std::nullopt;
  for (const Ceilings::Compute& compute : ceilings.compute) {
    if (compute.dtype == operation->dtype() && compute.flops_per_second > 0) return compute.flops_per_second;
  }
  return std::nullopt;
}

}  // namespace

std::optional<AchievedRate> achieved_rate(const Result& result, Nanoseconds time, const RunRecord& record) {
  const Ceilings& ceilings = record.ceilings;
  const auto bytes = static_cast<double>(result.bytes.value());
  if (!(time.value() > 0) || (result.flops <= 0 && bytes <= 0)) return std::nullopt;
  const std::optional<double> flops_ceiling = compute_ceiling(result, ceilings);
  std::optional<double> bytes_ceiling = ceilings.bytes_per_second;
  if (bytes_ceiling && *bytes_ceiling <= 0) bytes_ceiling.reset();
  // Used if a ceiling is unknown: below 10 FLOP per byte, memory limits every recent CPU and GPU.
  constexpr double kBalance = 10.0;
  const double balance = flops_ceiling && bytes_ceiling ? *flops_ceiling / *bytes_ceiling : kBalance;
  AchievedRate rate;
  rate.compute_bound = result.flops > bytes * balance;
  rate.per_second = (rate.compute_bound ? result.flops : bytes) / to_seconds(time);
  const std::optional<double> ceiling = rate.compute_bound ? flops_ceiling : bytes_ceiling;
  const Operation* operation = operation_of(result.subject);
  const bool is_known = operation == nullptr || !is_only_moved(*operation, record.device);
  if (ceiling && is_known) rate.ceiling_share = rate.per_second / *ceiling;
  return rate;
}

bool is_only_moved(const Operation& operation, const DeviceDescription& device) {
  if (const auto* chain = std::get_if<Chain>(&operation.parameters())) {
    return std::ranges::any_of(chain->steps,
                               [&](const Operation& step) { return is_only_moved(step, device); });
  }
  return device.capabilities.is_simulated && std::holds_alternative<CudaKernel>(operation.parameters());
}

}  // namespace jitterscope
