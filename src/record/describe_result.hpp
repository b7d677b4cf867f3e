// All that is known of one operation, as it stands in a file.
#pragma once

#include <nlohmann/json.hpp>

#include "operation/model.hpp"
#include "record/describe_measurement.hpp"
#include "record/described.hpp"
#include "record/run_summary.hpp"
#include "record/words.hpp"

namespace jitterscope {

template <class Fields>
void describe(Fields& fields, Described<Fields, RoundRange>& range) {
  fields("first", range.first);
  fields("last", range.last);
  fields.check(range.first <= range.last, "last", "a round that is not before the first");
}

template <class Fields>
void describe(Fields& fields, Described<Fields, FindingPlace>& place) {
  fields("measurement", place.measurement);
  fields("rounds", place.rounds);
}

template <class Fields>
void describe(Fields& fields, Described<Fields, Finding>& finding) {
  fields("id", finding.id);
  fields("headline", finding.headline);
  fields("sentence", finding.sentence);
  fields("remedy", finding.remedy);
  fields("effect", finding.effect);
  fields("evidence", finding.evidence);
  fields.where(!finding.places.empty(), "places", finding.places);
}

template <class Fields>
void describe(Fields& fields, Described<Fields, Verification>& verification) {
  fields("relative_error", verification.relative_error);
  fields("tolerance", verification.tolerance);
  fields("checked", verification.checked);
  fields("total", verification.total);
  fields("unwritten", verification.unwritten);
  fields("passed", verification.passed);
  fields("same_formula", verification.same_formula);
}

template <class Fields>
void describe(Fields& fields, Described<Fields, LaunchKernel>& kernel) {
  fields("name", kernel.name);
  fields("median_seconds", kernel.median);
  fields("minimum_seconds", kernel.minimum);
  fields("maximum_seconds", kernel.maximum);
}

template <class Fields>
void describe(Fields& fields, Described<Fields, KernelConcurrency>& concurrency) {
  fields("streams", concurrency.streams);
  fields("most_at_once", concurrency.most_at_once);
  fields("mean_at_once", concurrency.mean_at_once);
}

template <class Fields>
void describe(Fields& fields, Described<Fields, CounterValue>& counter) {
  fields("name", counter.name);
  fields("quantity", counter.quantity);
  fields("stall_reason", counter.stall_reason);
  fields("unit", counter.unit);
  fields("value", counter.value);
}

template <class Fields>
void describe(Fields& fields, Described<Fields, LaunchCounters>& counters) {
  fields("cache", counters.cache);
  fields("passes", counters.reading.passes);
  fields("values", counters.reading.values);
}

template <class Fields>
void describe(Fields& fields, Described<Fields, IterationRun::ClockPoint>& point) {
  fields("launch", point.launch);
  fields("hertz", point.clock);
}

template <class Fields>
void describe(Fields& fields, Described<Fields, IterationRun>& run) {
  fields("count", run.count);
  fields("first_seconds", run.first);
  fields("minimum_seconds", run.minimum);
  fields("mean_seconds", run.mean);
  fields("median_seconds", run.median);
  fields("maximum_seconds", run.maximum);
  fields("first_launch_call_seconds", run.first_launch_call);
  fields("host_seconds_per_launch", run.host_time);
  fields("throttled_power_seconds", run.throttled_power);
  fields("throttled_thermal_seconds", run.throttled_thermal);
  fields("clocks", run.clocks);
}

template <class Fields>
void describe(Fields& fields, Described<Fields, LoadProbe>& probe) {
  fields("cache", probe.cache);
  fields("watched_seconds", probe.watched);
  fields("time_seconds", probe.time);
  fields("clock_hertz", probe.clock);
  fields("power_watts", probe.power);
  fields("power_capped_share", probe.power_capped);
}

/// `operation` is the text of one, or a callable's name; only callables say which.
template <class Fields>
void describe_subject(Fields& fields, Described<Fields, Subject>& subject) {
  bool is_callable = operation_of(subject) == nullptr;
  if constexpr (Fields::kWrites) {
    Json text = to_string(subject);
    fields("operation", text);
    fields.where(is_callable, "is_callable", is_callable);
    fields("parameters", parameters_json(subject));
  } else {
    is_callable = false;
    fields.require("operation");
    fields("is_callable", is_callable);
    Operation operation{Spin{}};
    Callable callable;
    if (is_callable) {
      fields("operation", callable.name);
      std::vector<Evidence> parameters;
      fields("parameters", parameters);
      for (const Evidence& each : parameters)
        callable.parameters.push_back({each.key, to_string(each.value)});
      subject = callable;
    } else {
      fields("operation", operation);
      subject = operation;
    }
  }
}

/// `key` holds the reason alone, since files had no more of it at first, `code_key` the exit code.
template <class Fields>
void describe_shortfall(Fields& fields, std::string_view key, std::string_view code_key,
                        Described<Fields, std::optional<Shortfall>>& shortfall) {
  if constexpr (Fields::kWrites) {
    if (!shortfall) return;
  } else {
    if (!fields.has(key)) return;
    shortfall.emplace();
  }
  fields(key, shortfall->reason);
  fields(code_key, shortfall->exit_code);
}

template <class Fields>
void describe(Fields& fields, Described<Fields, HeldMemory>& memory) {
  fields("asked_bytes", memory.asked);
  fields("held_bytes", memory.held);
  fields("largest_free_bytes", memory.largest_free);
}

/// What was found out about the subject.
template <class Fields>
void describe_outcome(Fields& fields, Described<Fields, Result>& result) {
  fields("provider", result.provider);
  fields("algorithm", result.algorithm);
  fields("stand_in", result.stand_in);
  fields("flops", result.flops);
  fields("minimum_bytes", result.bytes);
  fields("workspace_bytes", result.workspace);
  fields("held_memory", result.held_memory);
  fields("prepare_seconds", result.prepare_time);
  fields("first_call_seconds", result.first_call);
  fields("launch_cost_seconds", result.launch_cost);
  fields.where(result.waits_for_device, "waits_for_device", result.waits_for_device);
  fields.where(!result.kernels.empty(), "kernels", result.kernels);
  fields("concurrency", result.concurrency);
  describe_shortfall(fields, "without_kernels", "without_kernels_exit_code", result.without_kernels);
  fields.where(!result.counters.empty(), "counters", result.counters);
  describe_shortfall(fields, "without_counters", "without_counters_exit_code", result.without_counters);
  fields.where(!result.iterations.empty(), "iterations", result.iterations);
  fields("measurements", result.measurements);
  fields("load_probe", result.load_probe);
  fields("findings", result.findings);
  fields("verification", result.verification);
  fields("failure", result.failure);
}

template <class Fields>
void describe(Fields& fields, Described<Fields, Result>& result) {
  describe_subject(fields, result.subject);
  describe_outcome(fields, result);
}

/// The same object as its result, with how the network uses it.
template <class Fields>
void describe(Fields& fields, Described<Fields, RunEntry>& entry) {
  describe_subject(fields, entry.result.subject);
  fields("count", entry.count);
  fields("layers", entry.layers);
  fields("recorded_seconds", entry.recorded_time);
  describe_outcome(fields, entry.result);
}

template <class Fields>
void describe(Fields& fields, Described<Fields, UntimedOperator>& untimed) {
  fields("name", untimed.name);
  fields("count", untimed.count);
  fields("reason", untimed.reason);
  fields("recorded_seconds", untimed.recorded_time);
}

}  // namespace jitterscope
