// One operation by every method, as it stands in a file.
#pragma once

#include "record/describe_run.hpp"
#include "record/numbers.hpp"
#include "record/records.hpp"

namespace jitterscope {

template <class Fields>
void describe(Fields& fields, Described<Fields, MethodReading>& reading) {
  fields("id", reading.id);
  fields("name", reading.name);
  fields("cache", reading.cache);
  fields("time_seconds", reading.times);
  fields("sentence", reading.sentence);
  fields("absent", reading.absent);
}

/// With what follows from its times and those of the reference; written only.
struct ReadingInComparison {
  const MethodComparison* comparison = nullptr;
  const MethodReading* reading = nullptr;
};
template <class Fields>
void describe(Fields& fields, Described<Fields, ReadingInComparison>& written) {
  describe(fields, *written.reading);
  if (written.reading->times.empty()) return;
  fields("median_seconds", written.reading->time());
  fields.derived("relative_range", written.reading->range());
  const auto distance = distance_from_reference(*written.comparison, *written.reading);
  if (!distance) return;
  fields.derived("distance_seconds", in_seconds(distance->time));
  fields.derived("relative_distance", distance->ratio);
}

template <class Fields>
void describe_content(Fields& fields, Described<Fields, MethodsRecord>& record) {
  auto& comparison = record.comparison;
  fields("operation", comparison.operation);
  fields("provider", comparison.provider);
  fields("algorithm", comparison.algorithm);
  fields("data", comparison.input.kind);
  fields("seed", comparison.input.seed);
  fields("repetitions", comparison.repetitions);
  fields("launches", comparison.launches);
  fields("launches_return_early", comparison.launches_return_early);
  fields("shortest_idle_seconds", comparison.shortest_idle);
  fields("longest_idle_seconds", comparison.longest_idle);
  fields("calibration", comparison.calibration);
  fields("first_call_seconds", comparison.first_call);
  fields("launch_cost_seconds", comparison.launch_cost);
  fields("clock_hertz", comparison.clock);
  fields("reference", comparison.reference);
  if constexpr (Fields::kWrites) {
    std::vector<ReadingInComparison> written;
    for (const MethodReading& reading : comparison.readings) written.push_back({&comparison, &reading});
    fields("methods", written);
  } else {
    fields("methods", comparison.readings);
  }
}

}  // namespace jitterscope
