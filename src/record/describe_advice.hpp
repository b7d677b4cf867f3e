// Fields of advice: for its record, and for requests of other languages.
#pragma once

#include "record/describe_run.hpp"
#include "study/advice.hpp"

namespace jitterscope {

// Describes a comparison within another record, without device and environment, which that record has.
template <class Fields>
void describe(Fields& fields, Described<Fields, ComparisonRecord>& record) {
  describe_content(fields, record);
}

template <class Fields>
void describe(Fields& fields, Described<Fields, study::TriedRemedy>& remedy) {
  fields("study", remedy.study);
  fields("arm", remedy.arm);
  fields("outcome", remedy.outcome);
  fields("time_ratio", remedy.time);
  fields("relative_error", remedy.error);
  fields("memory_ratio", remedy.memory);
  fields("failure", remedy.failure);
}

template <class Fields>
void describe(Fields& fields, Described<Fields, study::AdviceStep>& step) {
  fields("remedies", step.remedies);
  fields("comparison", step.comparison);
}

template <class Fields>
void describe(Fields& fields, Described<Fields, study::AdvisedLayer>& layer) {
  fields("layers", layer.layers);
  fields("count", layer.count);
  describe_subject(fields, layer.subject);
  fields("time", layer.time);
  fields("share", layer.share);
  fields("is_tried", layer.is_tried);
  fields("findings", layer.findings);
  fields("counters", layer.counters);
}

template <class Fields>
void describe(Fields& fields, Described<Fields, study::Recommendation>& recommendation) {
  fields("study", recommendation.study);
  fields("arm", recommendation.arm);
  fields("place", recommendation.place);
  fields("lines", recommendation.lines);
  fields("price", recommendation.price);
}

template <class Fields>
void describe(Fields& fields, Described<Fields, study::UntriedStudy>& untried) {
  fields("study", untried.study);
  fields("reason", untried.reason);
}

template <class Fields>
void describe_content(Fields& fields, Described<Fields, study::AdviceRecord>& record) {
  fields("title", record.title);
  fields("goal", record.goal);
  fields("margin", record.margin);
  fields("tolerance", record.tolerance);
  fields("conclusions", record.conclusions);
  fields("recommendations", record.recommendations);
  fields("layers", record.layers);
  fields("steps", record.steps);
  fields.check(record.recommendations.empty() || !record.steps.empty(), "steps",
               "a list with the steps of the recommendations");
  fields("together", record.together);
  fields("sustained", record.sustained);
  fields("untried", record.untried);
  fields("notes", record.notes);
}

}  // namespace jitterscope
