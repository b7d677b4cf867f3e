#include <nlohmann/json.hpp>

#include "output/json.hpp"
#include "output/pytorch_table.hpp"

namespace jitterscope {
namespace {

constexpr int kPytorchVersion = 1;  // raised where a reader of the last version could misread the document

std::string_view word(Verdict verdict) {
  switch (verdict) {
    case Verdict::equal: return "equal";
    case Verdict::differs: return "differs";
    case Verdict::unknown: break;
  }
  return "unknown";
}

Json layer_json(const ComparedLayer& layer) {
  const ReferenceLayer& reference = layer.reference;
  Json object = {
      {"operation", reference.operation.text()}, {"name", reference.name}, {"count", reference.count}};
  put(object, "provider", layer.here.provider);
  object["engine"] = word(layer.engine);
  put(object, "pytorch_engine", reference.engine);
  put(object, "engine_here", layer.here.algorithm);
  object["kernels"] = word(layer.kernels);
  object["pytorch_kernels"] = reference.kernels;
  object["kernels_here"] = kernels_json(layer.here.kernels);
  put(object, "pytorch_seconds", reference.time);
  put(object, "time_ratio", layer.time_ratio);
  put(object, "failure", layer.here.failure);
  return object;
}

}  // namespace

std::string pytorch_json(const PytorchRecord& record) {
  const PytorchComparison& comparison = record.comparison;
  Json document = {{"format", "jitterscope-verify-pytorch"}, {"version", kPytorchVersion}};
  document["model"] = comparison.model;
  put(document, "torch", comparison.torch);
  put(document, "pytorch_cudnn", comparison.cudnn);
  document["equal"] = comparison.is_equal();
  document["interrupted"] = comparison.interrupted;
  document["environment"] = environment_json(record.environment);
  document["device"] = {{"id", record.device.id}, {"name", record.device.name}};
  document["libraries"] = libraries_json(record.device.libraries);
  put(document, "recorded_gpu_seconds", comparison.recorded_gpu_time);
  put(document, "without_plans", comparison.without_plans);
  document["layers"] = Json::array();
  for (const ComparedLayer& layer : comparison.layers) document["layers"].push_back(layer_json(layer));
  document["not_compared"] = untimed_json(comparison.not_compared);
  return json_text(document);
}

}  // namespace jitterscope
