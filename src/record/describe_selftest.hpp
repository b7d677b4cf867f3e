// The tool's judgement of itself, as it stands in a file.
#pragma once

#include "record/described.hpp"
#include "record/words.hpp"
#include "selftest/proof.hpp"

namespace jitterscope::selftest {

constexpr auto enumerators(Verdict) {
  return std::array{Verdict::passed, Verdict::missed, Verdict::inconclusive, Verdict::skipped};
}
constexpr auto enumerators(ValueKind) {
  return std::array{ValueKind::seconds, ValueKind::share, ValueKind::ratio, ValueKind::bytes_per_second};
}

template <class Fields>
void describe(Fields& fields, Described<Fields, ProofValue>& value) {
  fields("kind", value.kind);
  fields("value", value.value);
  fields("low", value.low);
  fields("high", value.high);
  if constexpr (!Fields::kWrites) {
    if (fields.has("target_low") && fields.has("target_high")) value.target.emplace();
  }
  if (value.target) {
    fields("target_low", value.target->low);
    fields("target_high", value.target->high);
  }
}

/// The value's fields are the line's own.
template <class Fields>
void describe(Fields& fields, Described<Fields, ProofLine>& line) {
  fields("proof", line.group);
  fields("name", line.name);
  fields("verdict", line.verdict);
  fields("target", line.target);
  fields("measured", line.measured);
  if constexpr (!Fields::kWrites) {
    if (fields.has("kind")) line.value.emplace();
  }
  if (line.value) describe(fields, *line.value);
  fields("note", line.note);
}

template <class Fields>
void describe_content(Fields& fields, Described<Fields, SelftestRecord>& record) {
  fields("seed", record.seed);
  fields("quick", record.quick);
  fields("duration_seconds", record.duration);
  fields("lines", record.lines);
}

}  // namespace jitterscope::selftest
