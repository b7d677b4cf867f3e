#include <nlohmann/json.hpp>

#include "output/json.hpp"
#include "output/methods_table.hpp"

namespace jitterscope {
namespace {

constexpr int kMethodsVersion = 1;  // raised where a reader of the last version could misread the document

Json reading_json(const MethodComparison& comparison, const MethodReading& reading) {
  Json object = {{"id", reading.id}, {"name", reading.name}, {"cache", to_string(reading.cache)}};
  if (!reading.times.empty()) {
    put(object, "median_seconds", reading.time());
    put(object, "relative_range", reading.range());
    if (const auto distance = distance_from_reference(comparison, reading)) {
      put(object, "distance_seconds", distance->time);
      put(object, "relative_distance", distance->ratio);
    }
  }
  put_seconds(object, "time_seconds", reading.times);
  put(object, "sentence", reading.sentence);
  put(object, "absent", reading.absent);
  return object;
}

}  // namespace

std::string methods_json(const MethodsRecord& record) {
  const MethodComparison& comparison = record.comparison;
  Json document = {{"format", "jitterscope-methods"}, {"version", kMethodsVersion}};
  document["operation"] = comparison.operation;
  document["interrupted"] = comparison.interrupted;
  document["environment"] = environment_json(record.environment);
  document["device"] = {{"id", record.device.id}, {"name", record.device.name}};
  put(document["device"], "uuid", record.device.uuid);
  put(document, "provider", comparison.provider);
  put(document, "algorithm", comparison.algorithm);
  document["data"] = to_string(comparison.input.kind);
  document["seed"] = comparison.input.seed;
  document["repetitions"] = comparison.repetitions;
  document["launches"] = comparison.launches;
  put(document, "shortest_idle_seconds", comparison.shortest_idle);
  put(document, "longest_idle_seconds", comparison.longest_idle);
  document["calibration"] = {{"events", instrument_constant_json(comparison.calibration.events)},
                             {"graph", instrument_constant_json(comparison.calibration.graph)}};
  put(document["calibration"], "method", comparison.calibration.method);
  put(document, "first_call_seconds", comparison.first_call);
  put(document, "launch_cost_seconds", comparison.launch_cost);
  put(document, "clock_hertz", comparison.clock);
  put(document, "reference", comparison.reference);
  document["methods"] = Json::array();
  for (const MethodReading& reading : comparison.readings) {
    document["methods"].push_back(reading_json(comparison, reading));
  }
  return json_text(document);
}

}  // namespace jitterscope
