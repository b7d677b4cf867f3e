#include <nlohmann/json.hpp>

#include "output/json.hpp"
#include "output/selftest_table.hpp"

namespace jitterscope {
namespace {

using selftest::ProofLine;

constexpr int kSelftestVersion = 1;  // raised where a reader of the last version could misread the document

Json line_json(const ProofLine& line) {
  Json object = {{"proof", line.group}, {"name", line.name}, {"verdict", to_string(line.verdict)}};
  put(object, "target", line.target);
  put(object, "measured", line.measured);
  if (line.value) {
    object["kind"] = identifier(to_string(line.value->kind));
    put(object, "value", line.value->value);
    put(object, "low", line.value->low);
    put(object, "high", line.value->high);
  }
  put(object, "note", line.note);
  return object;
}

}  // namespace

std::string selftest_json(const selftest::SelftestRecord& record) {
  Json document = {{"format", "jitterscope-selftest"}, {"version", kSelftestVersion}};
  document["interrupted"] = record.interrupted;
  document["environment"] = environment_json(record.environment);
  document["device"] = {{"id", record.device.id}, {"name", record.device.name}};
  put(document["device"], "uuid", record.device.uuid);
  document["device"]["libraries"] = libraries_json(record.device.libraries);
  document["device"]["properties"] = properties_json(record.device.properties);
  document["seed"] = record.seed;
  document["quick"] = record.quick;
  put(document, "duration_seconds", record.duration);
  document["lines"] = Json::array();
  for (const ProofLine& line : record.lines) document["lines"].push_back(line_json(line));
  return json_text(document);
}

}  // namespace jitterscope
