#include <nlohmann/json.hpp>

#include "base/quantity_text.hpp"
#include "output/doctor_table.hpp"
#include "output/estimate_text.hpp"
#include "output/json.hpp"

namespace jitterscope {
namespace {

constexpr int kDoctorVersion = 1;  // raised where a reader of the last version could misread the document

std::string_view word(Check::Status status) {
  switch (status) {
    case Check::Status::good: return "ok";
    case Check::Status::limits: return "limits";
    case Check::Status::missing: return "missing";
  }
  return "";
}

Json checks_json(const std::vector<Check>& checks) {
  Json array = Json::array();
  for (const Check& check : checks) {
    Json object = {{"subject", check.subject}, {"status", word(check.status)}, {"sentence", check.sentence}};
    put(object, "remedy", check.remedy);
    array.push_back(std::move(object));
  }
  return array;
}

Json floor_result_json(const Result& result) {
  Json object = {{"operation", result.operation}};
  put(object, "failure", result.failure);
  if (result.measurements.empty() || result.measurements.front().rounds.empty()) return object;
  const Measurement& measurement = result.measurements.front();
  const RoundSpread spread = round_spread(measurement);
  object["instrument"] = to_string(measurement.instrument);
  object["rounds"] = measurement.time.rounds;
  put(object, "median_seconds", measurement.time.median);
  if (has_interval(measurement.time)) put(object, "relative_precision", measurement.time.precision());
  put(object, "p5_seconds", spread.p5);
  put(object, "p95_seconds", spread.p95);
  return object;
}

Json noise_floor_json(const NoiseFloor& floor) {
  Json object = {{"events", instrument_constant_json(floor.calibration.events)},
                 {"graph", instrument_constant_json(floor.calibration.graph)}};
  put(object, "method", floor.calibration.method);
  put(object, "launch_cost_seconds", floor.launch_cost);
  object["results"] = Json::array();
  for (const Result& result : floor.results) object["results"].push_back(floor_result_json(result));
  if (floor.cache_proof) {
    Json& proof = object["cache_proof"] = Json::object();
    put(proof, "evicted_seconds", floor.cache_proof->evicted_read);
    put(proof, "untouched_seconds", floor.cache_proof->untouched_read);
    put(proof, "cached_seconds", floor.cache_proof->cached_read);
    proof["proven"] = floor.cache_proof->proven;
  }
  put(object, "duration_seconds", floor.duration);
  object["interrupted"] = floor.interrupted;
  return object;
}

}  // namespace

std::string doctor_json(const DoctorReport& report) {
  Json document = {{"format", "jitterscope-doctor"}, {"version", kDoctorVersion}};
  document["environment"] = environment_json(report.environment);
  put(document, "device", report.device);
  document["libraries"] = libraries_json(report.libraries);
  document["checks"] = Json::object();
  for (const DoctorSection& section : doctor_sections(report)) {
    document["checks"][section.key] = checks_json(section.checks);
  }
  if (report.noise_floor) document["noise_floor"] = noise_floor_json(*report.noise_floor);
  return json_text(document);
}

}  // namespace jitterscope
