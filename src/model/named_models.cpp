#include "model/named_models.hpp"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "base/names.hpp"
#include "jitterscope/error.hpp"

namespace jitterscope {
namespace {

struct NamedModel {
  std::string name, sentence;
  std::vector<std::string> axes;
  Network (*build)(const ModelOptions&);
};

const std::vector<NamedModel>& all() {
  static const std::string images = "32 images of 224x224";
  static const std::vector<NamedModel> models = {
      {"alexnet", "torchvision's AlexNet, " + images, {"size"}, build_alexnet},
      {"bert-base",
       "Hugging Face's BERT base with its pooler, 32 texts of 128 tokens",
       {"seq", "layers"},
       build_bert_base},
      {"gpt2",
       "Hugging Face's GPT-2 of 124 million weights, 8 texts of 1024 tokens",
       {"seq", "layers"},
       build_gpt2},
      {"mobilenet_v2", "torchvision's MobileNetV2, " + images, {"size"}, build_mobilenet_v2},
      {"resnet18", "torchvision's ResNet-18, " + images, {"size"}, build_resnet18},
      {"resnet50", "torchvision's ResNet-50, " + images, {"size"}, build_resnet50},
      {"unet",
       "U-Net with transposed convolutions and batch norms, 4 images of 512x512",
       {"size"},
       build_unet},
      {"vgg16", "torchvision's VGG-16 without batch norms, " + images, {"size"}, build_vgg16},
      {"vit-b16", "torchvision's ViT-B/16, " + images, {"size"}, build_vit_b16}};
  return models;
}

std::vector<ParameterHelp> options_of(const NamedModel& model) {
  std::vector<ParameterHelp> options = {
      {"batch", "images or texts in a batch", ""},
      {"dtype",
       "f64, f32, tf32, f16 or bf16; left out: convolutions in TF32 and all else in f32, as PyTorch has it",
       ""},
      {"layout", "nchw or nhwc (PyTorch: channels_last)", "nchw"},
      {"direction",
       "training (forward and backward), fprop (forward), dgrad (gradients of inputs) or wgrad (of weights)",
       "training"}};
  static const std::map<std::string, std::string> meanings = {{"size", "height and width of the images"},
                                                              {"seq", "tokens in each text"},
                                                              {"layers", "how many blocks"}};
  for (const std::string& axis : model.axes) options.push_back({axis, meanings.at(axis), ""});
  return options;
}

void check_axes(const NamedModel& model, const ModelOptions& options) {
  std::vector<std::string> known;
  for (const ParameterHelp& option : options_of(model)) known.push_back(option.name);
  for (const auto& [axis, unused] : options.axes) {
    if (std::find(model.axes.begin(), model.axes.end(), axis) != model.axes.end()) continue;
    throw UsageError(fmt::format("{} has no option '{}'{}", model.name, axis, suggestion(axis, known)));
  }
}

}  // namespace

std::vector<ModelDescription> named_models() {
  std::vector<ModelDescription> result;
  for (const NamedModel& model : all()) result.push_back({model.name, model.sentence, options_of(model)});
  return result;
}

std::optional<Model> named_model(std::string_view name, const ModelOptions& options) {
  const auto found =
      std::find_if(all().begin(), all().end(), [&](const NamedModel& known) { return known.name == name; });
  if (found == all().end()) return std::nullopt;
  check_axes(*found, options);
  try {
    Model model = found->build(options).to_model(options);
    model.name = found->name;
    return model;
  } catch (const UsageError& error) {
    throw UsageError(fmt::format("{}: {}", found->name, error.what()));
  }
}

std::optional<std::string> network_named_by(std::string_view target) {
  std::string name(target.substr(0, target.find(':')));
  const bool is_known = std::ranges::count(named_models(), name, &ModelDescription::name) > 0;
  return is_known ? std::optional(std::move(name)) : std::nullopt;
}

std::optional<std::string> network_of(const RunRecord& record) {
  if (!record.asked || record.asked->targets.size() != 1) return std::nullopt;
  return network_named_by(record.asked->targets.front());
}

}  // namespace jitterscope
