// Builds networks by name: resnet50, or resnet50:batch=64,dtype=f16,layout=nhwc,direction=fprop.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "jitterscope/operation.hpp"
#include "measure/run_record.hpp"
#include "model/network.hpp"
#include "operation/model.hpp"

namespace jitterscope {

struct ModelDescription {
  std::string name, sentence;
  std::vector<ParameterHelp> options;  ///< given behind a colon
};
std::vector<ModelDescription> named_models();

/// Returns one training step of a network, or the part of it that is asked for. nullopt if no network has
/// this name. Throws UsageError for an option that the network does not have, or a size that it cannot have.
std::optional<Model> named_model(std::string_view name, const ModelOptions& options);

/// Returns resnet50 for resnet50:batch=64; nullopt if the text does not begin with a network's name.
std::optional<std::string> network_named_by(std::string_view target);
/// Returns the name of the one network that a run was asked for; nullopt for operations and files, or if the
/// record does not say.
std::optional<std::string> network_of(const RunRecord& record);

// The networks, each with the weights' names and order of torchvision or Hugging Face.

Network build_alexnet(const ModelOptions& options);
Network build_vgg16(const ModelOptions& options);
Network build_resnet18(const ModelOptions& options);
Network build_resnet50(const ModelOptions& options);
Network build_mobilenet_v2(const ModelOptions& options);
Network build_unet(const ModelOptions& options);
Network build_bert_base(const ModelOptions& options);
Network build_gpt2(const ModelOptions& options);
Network build_vit_b16(const ModelOptions& options);

}  // namespace jitterscope
