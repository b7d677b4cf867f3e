// Describes accounts of differences for files (see values.hpp).
#pragma once

#include "explain/account.hpp"
#include "record/describe_measurement.hpp"
#include "record/describe_run.hpp"

namespace jitterscope {

template <class Fields>
void describe(Fields& fields, Described<Fields, explain::AccountedPart>& part) {
  fields("name", part.name);
  fields("first", part.first);
  fields("second", part.second);
  fields("time_ratio", part.ratio);
  fields.where(part.is_bound, "is_bound", part.is_bound);
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
  fields.where(!account.first_processes.empty(), "first_process_seconds", account.first_processes);
  fields.where(!account.second_processes.empty(), "second_process_seconds", account.second_processes);
  fields("parts", account.parts);
  fields("rest_ratio", account.rest);
  fields.where(account.is_of_program, "is_of_program", account.is_of_program);
  fields("in_sequence", account.in_sequence);
  fields.where(!account.stopped_at.empty(), "stopped_at", account.stopped_at);
  fields.derived("change_seconds", in_seconds(explain::change_of_all(account)));
  fields.derived("explained", account.is_explained());
}

template <class Fields>
void describe(Fields& fields, Described<Fields, explain::TotalPart>& part) {
  fields("name", part.name);
  fields("first", part.first);
  fields("second", part.second);
  fields("of", part.of);
  fields("operations", part.operations);
  fields.derived("change_seconds", in_seconds(part.change));
  fields("time_ratio", part.ratio);
  fields.where(part.is_bound, "is_bound", part.is_bound);
}

template <class Fields>
void describe(Fields& fields, Described<Fields, explain::AccountTotal>& total) {
  fields("calls", total.calls);
  fields("first", total.first);
  fields("second", total.second);
  fields("time_ratio", total.time);
  fields("parts", total.parts);
  fields("rest_ratio", total.rest);
  fields.derived("explained", total.is_explained());
}

}  // namespace jitterscope
