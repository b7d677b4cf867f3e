// Everything that one run found out, as it stands in a file.
#pragma once

#include "measure/network_total.hpp"
#include "record/describe_result.hpp"

namespace jitterscope {

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

/// But for the functions that it calls.
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

/// What the envelope of all commands does not have already.
template <class Fields>
void describe_content(Fields& fields, Described<Fields, RunRecord>& record) {
  fields("title", record.title);
  fields("device_note", record.device_note);
  fields("asked", record.asked);
  fields("calibration", record.calibration);
  fields("ceilings", record.ceilings);
  if constexpr (Fields::kWrites) {
    fields("summary", run_summary_json(record));
    // They follow from the results.
    if (is_network(record)) fields("totals", network_totals(record));
  }
  fields("results", record.entries);
  describe_sequence(fields, record);
  fields("untimed", record.untimed);
  fields("recorded_gpu_seconds", record.recorded_gpu_time);
  fields("notes", record.notes);
  fields("findings", record.findings);
}

}  // namespace jitterscope
