#include <nlohmann/json.hpp>

#include "output/list_table.hpp"
#include "record/describe_result.hpp"
#include "record/values.hpp"
#include "study/study.hpp"

namespace jitterscope {
namespace {

Json operations_json() {
  Json array = Json::array();
  for (const OperationHelp& help : operation_help()) {
    Json object = {{"kind", help.kind}, {"summary", help.summary}, {"example", help.example}};
    object["parameters"] = Json::array();
    for (const ParameterHelp& parameter : help.parameters) {
      Json entry = {{"name", parameter.name}, {"meaning", parameter.meaning}};
      put(entry, "default", parameter.default_value);
      object["parameters"].push_back(std::move(entry));
    }
    array.push_back(std::move(object));
  }
  return array;
}

Json devices_json(const std::vector<DeviceListing>& devices) {
  Json array = Json::array();
  for (const DeviceListing& device : devices) {
    Json object = {{"id", device.id}};
    put(object, "name", device.name);
    put(object, "problem", device.problem);
    array.push_back(std::move(object));
  }
  return array;
}

Json providers_json(const std::vector<ProviderListing>& providers) {
  Json array = Json::array();
  for (const ProviderListing& provider : providers) {
    Json object = {{"name", provider.name}, {"device", provider.device}, {"operations", provider.operations}};
    put(object, "version", provider.version);
    put(object, "problem", provider.problem);
    array.push_back(std::move(object));
  }
  return array;
}

Json counters_json(const CounterListing& listing) {
  Json array = Json::array();
  for (const Counter& counter : listing.counters) {
    Json object = {{"name", counter.name}, {"default", counter.is_default}};
    put(object, "unit", counter.unit);
    put(object, "description", counter.description);
    object["quantity"] = identifier(to_string(counter.quantity));
    put(object, "stall_reason", counter.stall_reason);
    array.push_back(std::move(object));
  }
  return array;
}

Json models_json(const std::vector<ModelListing>& models) {
  Json array = Json::array();
  for (const ModelListing& model : models) {
    Json object = {{"name", model.name}};
    if (model.problem.empty()) {
      object["description"] = model.description;
      object["layers"] = model.layers;
      object["operations"] = model.operations;
    } else {
      object["problem"] = model.problem;
    }
    array.push_back(std::move(object));
  }
  return array;
}

Json studies_json() {
  Json array = Json::array();
  for (const study::StudySummary& study : study::list_studies()) {
    array.push_back({{"id", study.id}, {"question", study.question}, {"concerns", study.concerns}});
  }
  return array;
}

Json plans_json(const std::vector<RecordedPlan>& plans) {
  Json array = Json::array();
  for (const RecordedPlan& plan : plans) {
    Json object = {{"tag", plan.tag}};
    put(object, "workspace_bytes", plan.workspace);
    put(object, "seconds", plan.time);
    array.push_back(std::move(object));
  }
  return array;
}

}  // namespace

std::string list_json(const Listing& listing) {
  Json document = {{"format", "jitterscope-list"}, {"version", 1}};
  if (listing.operations) document["operations"] = operations_json();
  if (listing.devices) document["devices"] = devices_json(*listing.devices);
  if (listing.providers) document["providers"] = providers_json(*listing.providers);
  if (listing.models) document["models"] = models_json(*listing.models);
  if (listing.studies) document["studies"] = studies_json();
  if (listing.counters) {
    document["counters_of"] = listing.counters->subject;
    document["counters"] = counters_json(*listing.counters);
  }
  return json_text(document);
}

std::string model_json(const Model& model) {
  Json document = {{"format", "jitterscope-layers"}, {"version", 1}};
  document["name"] = model.name;
  document["description"] = model.description;
  put(document, "record", model.format);
  put(document, "recorded_device", model.recorded_device);
  put(document, "recorded_cudnn", model.recorded_cudnn);
  put(document, "recorded_gpu_seconds", model.recorded_gpu_time);
  document["layers"] = Json::array();
  for (const Layer& layer : model.layers) {
    Json object = {{"operation", layer.operation.text()}, {"count", layer.count()}, {"names", layer.names}};
    put(object, "source", layer.source);
    if (layer.aten) object["aten"] = layer.aten->text();
    put(object, "flops", layer.operation.flops());
    put(object, "minimum_bytes", layer.operation.bytes());
    put(object, "recorded_seconds", layer.recorded_time);
    if (!layer.recorded_kernels.empty()) object["recorded_kernels"] = layer.recorded_kernels;
    if (!layer.recorded_plans.empty()) object["recorded_plans"] = plans_json(layer.recorded_plans);
    document["layers"].push_back(std::move(object));
  }
  document["untimed"] = write_value(model.untimed);
  document["notes"] = model.notes;
  return json_text(document);
}

}  // namespace jitterscope
