// Describes the records of `run` and `compare` for files (see values.hpp).
#pragma once

#include <nlohmann/json.hpp>

#include "experiment/comparison.hpp"
#include "measure/rates_and_totals.hpp"
#include "measure/where_to_work.hpp"
#include "operation/model.hpp"
#include "record/describe_measurement.hpp"
#include "record/run_summary.hpp"
#include "record/values.hpp"
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
  fields("wrong", verification.wrong);
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

/// `operation` is the text of an operation or the name of a callable. Only a callable has `is_callable`.
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

/// `key` holds only the reason, because older files had nothing else; `code_key` holds the exit code.
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

/// Describes everything in a result but its subject.
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

/// Puts the result's fields and how the network uses it into one object.
template <class Fields>
void describe(Fields& fields, Described<Fields, RunEntry>& entry) {
  describe_subject(fields, entry.result.subject);
  fields("count", entry.count);
  fields("layers", entry.layers);
  fields("recorded_seconds", entry.recorded_time);
  describe_outcome(fields, entry.result);
}

template <class Fields>
void describe(Fields& fields, Described<Fields, ArrivalRounds>& rounds) {
  fields("delayed_rank", rounds.delayed_rank);
  fields("delay_seconds", rounds.delay);
  fields("own_seconds", rounds.own_times);
  fields("gap_seconds", rounds.gaps);
  fields("work_seconds", rounds.works);
}

template <class Fields>
void describe(Fields& fields, Described<Fields, CollectiveArrivals>& arrivals) {
  fields("operation", arrivals.operation);
  fields("eager_seconds", arrivals.eager);
  fields("rounds", arrivals.rounds);
}

template <class Fields>
void describe(Fields& fields, Described<Fields, LinkRates>& link) {
  fields("peer", link.peer);
  fields("way", link.way);
  fields("copy_engine_bytes_per_second", link.by_copy_engine);
  fields("copy_engine_both_ways_bytes_per_second", link.by_copy_engine_both_ways);
  fields("kernel_bytes_per_second", link.by_kernel);
  fields("kernel_both_ways_bytes_per_second", link.by_kernel_both_ways);
}

template <class Fields>
void describe(Fields& fields, Described<Fields, UntimedOperator>& untimed) {
  fields("name", untimed.name);
  fields("count", untimed.count);
  fields("reason", untimed.reason);
  fields("recorded_seconds", untimed.recorded_time);
  fields("is_unreached", untimed.is_unreached);
  fields("remedy", untimed.remedy);
}

template <class Fields>
void describe(Fields& fields, Described<Fields, RecordedUse::Idle>& idle) {
  fields("cause", idle.cause);
  fields("share", idle.share);
}

template <class Fields>
void describe(Fields& fields, Described<Fields, RecordedUse>& use) {
  fields("length_seconds", use.length);
  fields("busy", use.busy);
  fields("conversions", use.conversions);
  fields("idle", use.idle);
}

// Below: the whole record of a run.

template <class Fields>
void describe(Fields& fields, Described<Fields, Calibration>& calibration) {
  fields("events", calibration.events);
  fields("graph", calibration.graph);
  fields("method", calibration.method);
}

template <class Fields>
void describe(Fields& fields, Described<Fields, Ceilings::Compute>& compute) {
  fields("dtype", compute.dtype);
  fields("flops_per_second", compute.flops_per_second);
  fields("operation", compute.operation);
}

template <class Fields>
void describe(Fields& fields, Described<Fields, Ceilings>& ceilings) {
  fields("bytes_per_second", ceilings.bytes_per_second);
  fields("compute", ceilings.compute);
}

template <class Fields>
void describe(Fields& fields, Described<Fields, NetworkTotal>& total) {
  describe(fields, total.conditions);
  fields.derived("seconds", in_seconds(total.time));
  if (total.low && total.high) {
    fields.derived("low_seconds", in_seconds(*total.low));
    fields.derived("high_seconds", in_seconds(*total.high));
  }
  fields("calls", total.calls);
  fields("timed_calls", total.timed_calls);
}

template <class Fields>
void describe(Fields& fields, Described<Fields, WorkGroup>& group) {
  fields("name", group.name);
  fields("calls", group.calls);
  fields.derived("seconds", in_seconds(group.time));
  fields.derived("share", group.share);
  fields.derived("known_share", group.known_share);
  if (const std::optional<double> reached = group.of_ceiling()) {
    fields.derived("ceiling_share", *reached);
    fields.derived("could_save", group.could_save);
  }
  fields("results", group.results);
}

template <class Fields>
void describe(Fields& fields, Described<Fields, WhereToWork>& where) {
  fields.derived("advice", advice_of(where));
  describe(fields, where.conditions);
  fields.derived("at_ceiling_share", where.at_ceiling);
  fields.derived("unknown_share", where.unknown);
  fields("kinds", where.kinds);
  fields("parts", where.parts);
}

template <class Fields>
void describe(Fields& fields, Described<Fields, SequenceCall>& call) {
  fields("name", call.name);
  fields("result", call.layer);
  fields.where(call.time.rounds > 0, "time", call.time);
  fields.where(!call.kernels.empty(), "kernels", call.kernels);
  fields("failure", call.failure);
  fields.where(call.unwritten > 0, "unwritten", call.unwritten);
}

template <class Fields>
void describe(Fields& fields, Described<Fields, SequenceMeasurement>& sequence) {
  fields("instrument", sequence.instrument);
  fields.derived("load", Load::burst);
  fields("queue", sequence.queue);
  fields("clock_hertz", sequence.clock);
  fields("precision_asked", sequence.precision_asked);
  fields("is_connected", sequence.is_connected);
  fields.derived("timed_calls", calls_timed(sequence));
  fields.where(sequence.iteration.rounds > 0, "iteration", sequence.iteration);
  fields("calls", sequence.calls);
}

template <class Fields>
void describe_sequence(Fields& fields, Described<Fields, RunRecord>& record) {
  fields("sequence", record.sequence);
  if (!record.sequence) return;
  check_elements(
      fields, "sequence.calls", record.sequence->calls, "result",
      [&](const SequenceCall& call) { return call.layer < record.entries.size(); },
      "the number of one of the results");
}

/// Describes all options but the callback functions.
template <class Fields>
void describe(Fields& fields, Described<Fields, MeasureOptions>& options) {
  fields("caches", options.caches);
  fields("loads", options.loads);
  fields("queue", options.queue);
  fields("instrument", options.instrument);
  fields("precision", options.precision);
  fields("reference_clock_hertz", options.reference_clock);
  fields("minimum_rounds", options.minimum_rounds);
  fields("time_limit_seconds", options.time_limit);
  fields("sustained_time_limit_seconds", options.sustained_time_limit);
  fields("shortest_idle_seconds", options.shortest_idle);
  fields("longest_idle_seconds", options.longest_idle);
  fields("conditioning_launches", options.conditioning_launches);
  fields("launches_per_round", options.launches_per_round);
  fields("warm_up", options.warm_up);
  fields("data", options.data);
  fields("locked_clock_hertz", options.locked_clock);
  fields("placement", options.placement);
  fields("fresh_data", options.fresh_data);
  fields("iterations", options.iterations);
  fields("load_probe", options.load_probe);
  fields("kernels", options.kernels);
  fields("counters", options.counters);
  fields("process_variation", options.process_variation);
  fields("seed", options.seed);
}

template <class Fields>
void describe(Fields& fields, Described<Fields, RunAsked>& asked) {
  fields("targets", asked.targets);
  fields("only", asked.only);
  fields("provider", asked.provider);
  fields("verify", asked.verify);
  fields("ceilings", asked.ceilings);
  fields("in_sequence", asked.in_sequence);
  fields("options", asked.options);
}

/// Describes the fields that the common envelope does not have.
template <class Fields>
void describe_content(Fields& fields, Described<Fields, RunRecord>& record) {
  fields("title", record.title);
  fields("device_note", record.device_note);
  fields("asked", record.asked);
  fields("calibration", record.calibration);
  fields("ceilings", record.ceilings);
  if constexpr (Fields::kWrites) {
    fields("summary", run_summary_json(record));
    // Written for users of the file only: totals follow from the results.
    if (is_network(record)) fields("totals", network_totals(record));
    if (const std::optional<WhereToWork> where = where_to_work(record)) fields("where_to_work", *where);
  }
  fields("results", record.entries);
  describe_sequence(fields, record);
  fields.where(!record.arrivals.empty(), "arrivals", record.arrivals);
  fields.where(!record.links.empty(), "links", record.links);
  fields("untimed", record.untimed);
  fields("recorded_gpu_seconds", record.recorded_gpu_time);
  fields("recorded_use", record.recorded_use);
  fields("notes", record.notes);
  fields("findings", record.findings);
}

// Below: the record of a comparison.

template <class Fields>
void describe(Fields& fields, Described<Fields, Amount>& amount) {
  fields("unit", amount.unit);
  fields("count", amount.count);
}

template <class Fields>
void describe(Fields& fields, Described<Fields, ComparedSide>& side) {
  describe_subject(fields, side.subject);
  fields("provider", side.provider);
  fields("algorithm", side.algorithm);
  fields("held_memory", side.held_memory);
  fields.where(side.workspace > Bytes(0), "workspace_bytes", side.workspace);
  fields("conditions", side.conditions);
  fields("instrument", side.instrument);
  fields("time", side.time);
  fields("per_sample_seconds", side.per_sample);
  fields.where(!side.rounds.empty(), "round_seconds", side.rounds);
  fields.where(!side.launches.empty(), "launch_seconds", side.launches);
  fields("clock_hertz", side.clock);
  fields("cycles", side.cycles);
  fields("verification", side.verification);
  fields("amount", side.amount);
  fields("counters", side.counters);
  fields("concurrency", side.concurrency);
  describe_shortfall(fields, "without_kernels", "without_kernels_exit_code", side.without_kernels);
}

template <class Fields>
void describe(Fields& fields, Described<Fields, RatioEstimate>& ratio) {
  fields("ratio", ratio.ratio);
  fields("low", ratio.low);
  fields("high", ratio.high);
}

template <class Fields>
void describe(Fields& fields, Described<Fields, Comparison>& comparison) {
  fields("layers", comparison.layers);
  fields("count", comparison.count);
  fields("alternative", comparison.alternative);
  fields("first", comparison.first);
  fields("second", comparison.second);
  fields("time_ratio", comparison.time);
  fields("cycles_ratio", comparison.cycles);
  fields("processes", comparison.processes);
  fields("process_ratios", comparison.process_ratios);
  fields("within_process_deviation", comparison.within);
  fields("between_process_deviation", comparison.between);
  fields("p_value", comparison.p_value);
  fields("verdict", comparison.verdict);
  fields("processes_to_decide", comparison.processes_to_decide);
  fields.where(comparison.resolution > 0.0, "resolution", comparison.resolution);
  fields("failure", comparison.failure);
}

template <class Fields>
void describe(Fields& fields, Described<Fields, TotalComparison>& total) {
  fields("alternative", total.alternative);
  fields("load", total.load);
  fields("cache", total.cache);
  fields("first", total.first);
  fields("second", total.second);
  fields("first_per_sample_seconds", total.first_per_sample);
  fields("second_per_sample_seconds", total.second_per_sample);
  fields("first_clock_hertz", total.first_clock);
  fields("second_clock_hertz", total.second_clock);
  fields("time_ratio", total.time);
  fields("cycles_ratio", total.cycles);
  fields("processes", total.processes);
  fields("p_value", total.p_value);
  fields("verdict", total.verdict);
  fields("processes_to_decide", total.processes_to_decide);
}

template <class Fields>
void describe(Fields& fields, Described<Fields, LeftOutLayers>& left_out) {
  fields("alternative", left_out.alternative);
  fields("layers", left_out.layers);
  fields("of", left_out.of);
  fields.where(left_out.beside != 0, "beside", left_out.beside);
}

template <class Fields>
void describe(Fields& fields, Described<Fields, RecordDifference>& difference) {
  fields("name", difference.name);
  fields("first", difference.first);
  fields("second", difference.second);
  fields("may_explain", difference.may_explain);
  fields.where(!difference.of.empty(), "of", difference.of);
  fields.where(difference.alternative != 1, "alternative", difference.alternative);
}

template <class Fields>
void describe(Fields& fields, Described<Fields, ComparedBaseline>& baseline) {
  fields("name", baseline.name);
  fields("record", baseline.record);
  fields("time", baseline.time);
}

template <class Fields>
void describe(Fields& fields, Described<Fields, ComparedStudy>& study) {
  fields("id", study.id);
  fields("question", study.question);
  fields("answers", study.answers);
}

inline constexpr std::string_view kOneOfAlternatives =
    "the number of one of the alternatives, from 1 for the second,";

template <class Fields>
void describe_content(Fields& fields, Described<Fields, ComparisonRecord>& record) {
  fields("title", record.title);
  fields("baseline", record.baseline);
  fields("study", record.study);
  fields("alternatives", record.alternatives);
  fields.where(!record.measured.empty(), "measured", record.measured);
  fields("works", record.works);
  fields.where(!record.samples.empty(), "samples", record.samples);
  fields("margin", record.margin);
  fields("processes_asked", record.processes_asked);
  fields("differences", record.differences);
  fields("totals", record.totals);
  fields.where(!record.left_out.empty(), "left_out", record.left_out);
  fields("comparisons", record.comparisons);
  const std::size_t alternatives = record.alternatives.size();
  fields.check(alternatives > 0, "alternatives", "a list of one or more");
  fields.check(record.works.empty() || record.works.size() == alternatives, "works",
               "a number for each of the alternatives");
  check_elements(
      fields, "works", record.works, "", [](double work) { return work > 0.0; }, "a number above 0");
  fields.check(record.samples.empty() || record.samples.size() == alternatives, "samples",
               "a number for each of the alternatives");
  check_elements(
      fields, "samples", record.samples, "", [](std::int64_t samples) { return samples > 0; },
      "a number above 0");
  const auto is_known = [&](const auto& each) {
    return each.alternative > 0 && each.alternative < alternatives;
  };
  check_elements(fields, "comparisons", record.comparisons, "alternative", is_known, kOneOfAlternatives);
  check_elements(fields, "totals", record.totals, "alternative", is_known, kOneOfAlternatives);
  check_elements(fields, "differences", record.differences, "alternative", is_known, kOneOfAlternatives);
  fields.check(record.measured.empty() || record.measured.size() == alternatives, "measured",
               "a time for each of the alternatives");
  check_elements(
      fields, "left_out", record.left_out, "alternative",
      [&](const LeftOutLayers& each) {
        return each.alternative < alternatives && each.beside < alternatives;
      },
      "the number of one of the alternatives, from 0 for the first,");
  fields.where(!record.cautions.empty(), "cautions", record.cautions);
  fields("notes", record.notes);
  fields("lost_processes", record.lost_processes);
}

}  // namespace jitterscope
