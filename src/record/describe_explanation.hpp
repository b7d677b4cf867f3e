// What a study found out about one operation, as it stands in a file.
#pragma once

#include "record/describe_comparison.hpp"
#include "record/records.hpp"

namespace jitterscope {

template <class Fields>
void describe(Fields& fields, Described<Fields, explain::LoopStretch>& stretch) {
  fields("first_launch", stretch.first_launch);
  fields("launches", stretch.launches);
  fields("median_seconds", stretch.median);
  fields("clock_hertz", stretch.clock);
}

template <class Fields>
void describe(Fields& fields, Described<Fields, explain::ObservedLoop>& loop) {
  fields("idle_before_seconds", loop.idle_before);
  fields("median_seconds", loop.median);
  fields("minimum_seconds", loop.minimum);
  fields("maximum_seconds", loop.maximum);
  fields("stretches", loop.stretches);
}

template <class Fields>
void describe(Fields& fields, Described<Fields, explain::VariationShare>& share) {
  fields("variation", share.variation);
  fields("share", share.share);
  fields("low", share.low);
  fields("high", share.high);
}

template <class Fields>
void describe(Fields& fields, Described<Fields, explain::FirstWork>& work) {
  fields("preparation_seconds", work.preparation);
  fields("preparation_again_seconds", work.preparation_again);
  fields("allocation_seconds", work.allocation);
  fields("launch_seconds", work.launch);
  fields("later_launch_seconds", work.later_launch);
  fields("launch_in_processes_seconds", work.launch_in_processes);
}

template <class Fields>
void describe(Fields& fields, Described<Fields, explain::Observation>& observation) {
  fields("first_work", observation.first_work);
  fields("median_seconds", observation.median);
  fields("p5_seconds", observation.p5);
  fields("p95_seconds", observation.p95);
  fields("trend", observation.trend);
  fields("modes", observation.modes);
  fields.where(observation.mean > Nanoseconds(0), "mean_seconds", observation.mean);
  fields("recurrence", observation.recurrence);
  fields("within_loops_deviation", observation.within_loops);
  fields("between_loops_deviation", observation.between_loops);
  fields("shares", observation.shares);
  fields("loops", observation.loops);
}

template <class Fields>
void describe(Fields& fields, Described<Fields, explain::RandomFactor>& factor) {
  fields("id", factor.id);
  fields("cause", factor.cause);
  fields("deviation", factor.deviation);
  fields("low", factor.low);
  fields("high", factor.high);
  fields("levels", factor.levels);
  fields("not_available", factor.not_available);
}

template <class Fields>
void describe(Fields& fields, Described<Fields, explain::DoseEffect>& dose) {
  fields("dose", dose.dose);
  fields("time_ratio", dose.time);
  fields("clock_ratio", dose.clock);
  fields("blocks", dose.blocks);
  fields("p_value", dose.p_value);
}

template <class Fields>
void describe(Fields& fields, Described<Fields, explain::CountedChange>& change) {
  fields("name", change.name);
  fields("quantity", change.quantity);
  fields("unit", change.unit);
  fields("plain", change.plain);
  fields("treated", change.treated);
}

template <class Fields>
void describe(Fields& fields, Described<Fields, explain::HeldClock>& held) {
  fields("is_plain", held.is_plain);
  fields("by_power", held.by_power);
  fields("by_heat", held.by_heat);
}

template <class Fields>
void describe(Fields& fields, Described<Fields, explain::RestedEffect>& effect) {
  fields("time_ratio", effect.time);
  fields("clock_ratio", effect.clock);
}

template <class Fields>
void describe(Fields& fields, Described<Fields, explain::FactorResult>& factor) {
  fields("id", factor.id);
  fields("cause", factor.cause);
  fields("usual", factor.usual);
  fields("remedy", factor.remedy);
  fields("verdict", factor.verdict);
  fields("screened_ratio", factor.screened);
  fields("doses", factor.doses);
  fields("strongest", factor.strongest);
  fields.check(factor.strongest < std::max<std::size_t>(factor.doses.size(), 1), "strongest",
               "the number of one of the doses");
  fields.check(factor.verdict != explain::FactorVerdict::cause || !factor.doses.empty(), "verdict",
               "no cause without a dose");
  fields.where(!factor.counters.empty(), "counters", factor.counters);
  fields("held_clock", factor.held_clock);
  fields("at_low_duty", factor.at_low_duty);
  fields("not_told_from", factor.not_told_from);
  fields("blocks_to_decide", factor.blocks_to_decide);
  fields("reason", factor.reason);
}

template <class Fields>
void describe(Fields& fields, Described<Fields, explain::DummyEffect>& dummy) {
  fields("screened_ratio", dummy.screened);
  fields("paired_ratio", dummy.paired);
}

template <class Fields>
void describe(Fields& fields, Described<Fields, explain::OtherProcess>& other) {
  fields("name", other.name);
  fields("looks", other.looks);
}

template <class Fields>
void describe(Fields& fields, Described<Fields, explain::OtherProcesses>& others) {
  fields("looks", others.looks);
  fields("seen", others.seen);
}

template <class Fields>
void describe(Fields& fields, Described<Fields, explain::FastestLoop::Part>& part) {
  fields("factor", part.factor);
  fields("dose", part.dose);
}

template <class Fields>
void describe(Fields& fields, Described<Fields, explain::FastestLoop>& fastest) {
  fields("parts", fastest.parts);
  fields("time_ratio", fastest.time);
  fields("blocks", fastest.blocks);
}

template <class Fields>
void describe(Fields& fields, Described<Fields, explain::Explanation>& study) {
  fields("operation", study.operation);
  fields("provider", study.provider);
  fields("algorithm", study.algorithm);
  fields("factors", study.factors);
  fields("random_factors", study.random_factors);
  fields.where(!study.others.seen.empty(), "other_processes", study.others);
  fields("dummies", study.dummies);
  fields("screening_rounds", study.screening_rounds);
  fields("blocks", study.blocks);
  fields("plain", study.plain);
  fields("fastest", study.fastest);
  fields.where(!study.without_counters.empty(), "without_counters", study.without_counters);
  fields("duration_seconds", study.duration);
  fields("observation", study.observation);
}

template <class Fields>
void describe(Fields& fields, Described<Fields, explain::AccountedPart>& part) {
  fields("name", part.name);
  fields("first", part.first);
  fields("second", part.second);
  fields("time_ratio", part.ratio);
  fields("source", part.source);
  fields("experiment", part.experiment);
}

template <class Fields>
void describe(Fields& fields, Described<Fields, explain::Account>& account) {
  fields("layers", account.layers);
  fields("count", account.count);
  fields("first_subject", account.first_subject);
  fields("second_subject", account.second_subject);
  fields("first_conditions", account.first_conditions);
  fields("second_conditions", account.second_conditions);
  fields("first", account.first);
  fields("second", account.second);
  fields("time_ratio", account.time);
  fields("parts", account.parts);
  fields("rest_ratio", account.rest);
  fields.derived("explained", account.is_explained());
}

template <class Fields>
void describe_content(Fields& fields, Described<Fields, ExplainRecord>& record) {
  fields("conclusions", record.conclusions);
  fields("study", record.study);
  fields.where(record.calls != 1, "calls", record.calls);
  fields("accounts", record.accounts);
  fields("notes", record.notes);
}

}  // namespace jitterscope
