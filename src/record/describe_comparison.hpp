// What a comparison found, as it stands in a file.
#pragma once

#include "experiment/comparison.hpp"
#include "record/describe_result.hpp"

namespace jitterscope {

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
  fields("conditions", side.conditions);
  fields("instrument", side.instrument);
  fields("time", side.time);
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
}

template <class Fields>
void describe(Fields& fields, Described<Fields, RecordDifference>& difference) {
  fields("name", difference.name);
  fields("first", difference.first);
  fields("second", difference.second);
  fields("may_explain", difference.may_explain);
  fields.where(!difference.of.empty(), "of", difference.of);
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
  fields("works", record.works);
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
  const auto is_known = [&](const auto& each) {
    return each.alternative > 0 && each.alternative < alternatives;
  };
  check_elements(fields, "comparisons", record.comparisons, "alternative", is_known, kOneOfAlternatives);
  check_elements(fields, "totals", record.totals, "alternative", is_known, kOneOfAlternatives);
  check_elements(
      fields, "left_out", record.left_out, "alternative",
      [&](const LeftOutLayers& each) { return each.alternative < alternatives; },
      "the number of one of the alternatives, from 0 for the first,");
  fields("notes", record.notes);
  fields("lost_processes", record.lost_processes);
}

}  // namespace jitterscope
