#include "output/json.hpp"

#include <nlohmann/json.hpp>

#include "output/run_summary.hpp"

namespace jitterscope {
Json kernels_json(const std::vector<LaunchKernel>& kernels) {
  Json array = Json::array();
  for (const LaunchKernel& kernel : kernels) {
    Json object = {{"name", kernel.name}};
    put(object, "median_seconds", kernel.median);
    put(object, "minimum_seconds", kernel.minimum);
    put(object, "maximum_seconds", kernel.maximum);
    array.push_back(std::move(object));
  }
  return array;
}

Json libraries_json(const std::vector<LibraryInfo>& libraries) {
  Json array = Json::array();
  for (const LibraryInfo& library : libraries) {
    Json object = {{"name", library.name}};
    put(object, "version", library.version);
    put(object, "path", library.path);
    put(object, "problem", library.problem);
    array.push_back(std::move(object));
  }
  return array;
}

namespace {

constexpr int kVersion = 1;  // raised where a reader of the last version could misread the document

Json device_json(const DeviceDescription& device) {
  Json object = {{"id", device.id}, {"name", device.name}};
  put(object, "uuid", device.uuid);
  object["processors"] = device.processors;
  put(object, "memory_total_bytes", device.memory_total);
  put(object, "memory_free_bytes", device.memory_free);
  put(object, "last_level_cache_bytes", device.last_level_cache);
  put(object, "maximum_clock_hertz", device.maximum_clock);
  put(object, "power_limit_watts", device.power_limit);
  put(object, "slowdown_celsius", device.slowdown_temperature);
  object["data_types"] = Json::array();
  for (const DataType dtype : device.data_types) object["data_types"].push_back(to_string(dtype));
  object["libraries"] = libraries_json(device.libraries);
  object["properties"] = properties_json(device.properties);
  return object;
}

Json calibration_json(const Calibration& calibration) {
  Json object = {{"events", instrument_constant_json(calibration.events)},
                 {"graph", instrument_constant_json(calibration.graph)}};
  put(object, "method", calibration.method);
  return object;
}

Json ceilings_json(const Ceilings& ceilings) {
  Json object = Json::object();
  put(object, "bytes_per_second", ceilings.bytes_per_second);
  object["compute"] = Json::array();
  for (const Ceilings::Compute& compute : ceilings.compute) {
    Json entry = {{"dtype", to_string(compute.dtype)}};
    put(entry, "flops_per_second", compute.flops_per_second);
    entry["operation"] = compute.operation;
    object["compute"].push_back(std::move(entry));
  }
  return object;
}

Json verification_json(const Verification& verification) {
  Json object = Json::object();
  put(object, "relative_error", verification.relative_error);
  put(object, "tolerance", verification.tolerance);
  object["checked"] = verification.checked;
  object["total"] = verification.total;
  object["unwritten"] = verification.unwritten;
  object["passed"] = verification.passed;
  object["same_formula"] = verification.same_formula;
  return object;
}

Json findings_json(const std::vector<Finding>& findings) {
  Json array = Json::array();
  for (const Finding& finding : findings) array.push_back(finding_json(finding));
  return array;
}

Json load_probe_json(const LoadProbe& probe) {
  Json object = {{"cache", to_string(probe.cache)}};
  put(object, "watched_seconds", probe.watched);
  put(object, "time_seconds", probe.time);
  put(object, "clock_hertz", probe.clock);
  put(object, "power_watts", probe.power);
  put(object, "power_capped_share", probe.power_capped);
  return object;
}

Json result_json(const Result& result) {
  Json object = {{"operation", result.operation}, {"count", result.count}, {"layers", result.layers}};
  object["parameters"] = parameters_json(result.operation);
  put(object, "provider", result.provider);
  put(object, "algorithm", result.algorithm);
  object["stand_in"] = result.stand_in;
  put(object, "flops", result.flops);
  put(object, "minimum_bytes", result.bytes);
  put(object, "workspace_bytes", result.workspace);
  put(object, "recorded_seconds", result.recorded_time);
  put(object, "prepare_seconds", result.prepare_time);
  put(object, "first_call_seconds", result.first_call);
  put(object, "launch_cost_seconds", result.launch_cost);
  if (!result.kernels.empty()) object["kernels"] = kernels_json(result.kernels);
  if (result.without_kernels) object["without_kernels"] = result.without_kernels->reason;
  if (!result.iterations.empty()) object["iterations"] = iterations_json(result.iterations);
  object["measurements"] = Json::array();
  for (const Measurement& measurement : result.measurements) {
    object["measurements"].push_back(measurement_json(measurement));
  }
  if (result.load_probe) object["load_probe"] = load_probe_json(*result.load_probe);
  object["findings"] = findings_json(result.findings);
  if (result.verification) object["verification"] = verification_json(*result.verification);
  put(object, "failure", result.failure);
  return object;
}

}  // namespace

Json properties_json(const std::vector<Property>& properties) {
  Json object = Json::object();
  for (const Property& property : properties) object[property.key] = property.value;
  return object;
}

Json finding_json(const Finding& finding) {
  Json object = {{"id", finding.id}};
  put(object, "headline", finding.headline);
  object["sentence"] = finding.sentence;
  object["remedy"] = finding.remedy;
  put(object, "effect", finding.effect);
  object["evidence"] = properties_json(finding.evidence);
  return object;
}

Json environment_json(const Environment& environment) {
  return {{"tool_version", environment.tool_version},
          {"command_line", environment.command_line},
          {"time", environment.time},
          {"host", properties_json(environment.host)}};
}

std::string run_json(const RunRecord& record) {
  Json document = {{"format", "jitterscope-run"}, {"version", kVersion}};
  document["title"] = record.title;
  put(document, "device_note", record.device_note);
  document["interrupted"] = record.interrupted;
  document["environment"] = environment_json(record.environment);
  document["device"] = device_json(record.device);
  document["calibration"] = calibration_json(record.calibration);
  document["ceilings"] = ceilings_json(record.ceilings);
  document["summary"] = run_summary_json(record);
  document["results"] = Json::array();
  for (const Result& result : record.results) document["results"].push_back(result_json(result));
  if (record.sequence) document["sequence"] = sequence_json(*record.sequence);
  document["findings"] = findings_json(record.findings);
  document["untimed"] = untimed_json(record.untimed);
  put(document, "recorded_gpu_seconds", record.recorded_gpu_time);
  document["notes"] = record.notes;
  return json_text(document);
}

}  // namespace jitterscope
