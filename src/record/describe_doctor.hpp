// What a machine allows, as it stands in a file.
#pragma once

#include "record/describe_run.hpp"
#include "record/numbers.hpp"
#include "record/records.hpp"

namespace jitterscope {

template <class Fields>
void describe(Fields& fields, Described<Fields, CacheProof>& proof) {
  fields("evicted_seconds", proof.evicted_read);
  fields("untouched_seconds", proof.untouched_read);
  fields("cached_seconds", proof.cached_read);
  fields("proven", proof.proven);
}

/// A result with its one measurement in short; written only.
struct FloorResult {
  const Result* result = nullptr;
};
template <class Fields>
void describe(Fields& fields, Described<Fields, FloorResult>& floor) {
  const Result& result = *floor.result;
  describe(fields, result);
  if (result.measurements.empty() || result.measurements.front().rounds.empty()) return;
  const Measurement& measurement = result.measurements.front();
  const RoundSpread spread = round_spread(measurement);
  fields("instrument", measurement.instrument);
  fields("rounds", measurement.time.rounds);
  fields("median_seconds", measurement.time.median);
  fields.derived("relative_precision", measurement.time.precision());
  fields.derived("p5_seconds", in_seconds(spread.p5));
  fields.derived("p95_seconds", in_seconds(spread.p95));
}

template <class Fields>
void describe(Fields& fields, Described<Fields, NoiseFloor>& floor) {
  describe(fields, floor.calibration);
  fields("launch_cost_seconds", floor.launch_cost);
  if constexpr (Fields::kWrites) {
    std::vector<FloorResult> written;
    for (const Result& result : floor.results) written.push_back({&result});
    fields("results", written);
  } else {
    fields("results", floor.results);
  }
  fields("cache_proof", floor.cache_proof);
  fields("duration_seconds", floor.duration);
  fields("interrupted", floor.interrupted);
}

/// A section as `checks` has it, under its key.
struct NamedChecks {
  std::string key;
  std::vector<Check> value;
};

/// `checks` and `headings`: an object each, a field for each section.
template <class Fields>
void describe_sections(Fields& fields, Described<Fields, std::vector<DoctorSection>>& sections) {
  std::vector<NamedChecks> checks;
  std::vector<Property> headings;
  for (const DoctorSection& section : sections) {
    checks.push_back({section.key, section.checks});
    headings.push_back({section.key, section.heading});
  }
  fields("checks", checks);
  fields("headings", headings);
  if constexpr (!Fields::kWrites) {
    sections.clear();
    for (NamedChecks& each : checks) {
      const auto heading = std::ranges::find(headings, each.key, &Property::key);
      sections.push_back(
          {each.key, heading == headings.end() ? each.key : heading->value, std::move(each.value)});
    }
  }
}

template <class Fields>
void describe_content(Fields& fields, Described<Fields, DoctorReport>& report) {
  fields("libraries", report.libraries);
  describe_sections(fields, report.sections);
  fields("noise_floor", report.noise_floor);
}

}  // namespace jitterscope
