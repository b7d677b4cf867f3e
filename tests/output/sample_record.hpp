// Records for tests of output: invented numbers, every field filled.
#pragma once

#include <string>

#include "commands/run/table.hpp"
#include "measure/run_record.hpp"

namespace jitterscope::test {

/// Rounds of which each launch takes `time`, and an estimate of ±`precision`.
Measurement sample_measurement(CacheState cache, Load load, Nanoseconds time, double precision = 0.001);
/// Two layers of a model, one that failed, findings, verification: no field is empty.
RunRecord sample_model();
/// One operation in four conditions.
RunRecord sample_operation();

/// So many layers of 1, 2, 3 … µs, in the order of their times, all by one engine.
RunRecord model_of(int layers);

/// The table with --details and all findings.
inline std::string details(const RunRecord& record, std::size_t width = 120) {
  return run_table(record, {.width = width, .details = true, .findings = FindingsShown::all});
}

}  // namespace jitterscope::test
