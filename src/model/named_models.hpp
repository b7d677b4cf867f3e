// Networks by name: resnet50, or resnet50:batch=64,dtype=f16,layout=nhwc,direction=fprop.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "jitterscope/operation.hpp"
#include "operation/model.hpp"
#include "operation/model_options.hpp"

namespace jitterscope {

struct ModelDescription {
  std::string name, sentence;
  std::vector<ParameterHelp> options;  ///< behind a colon
};
std::vector<ModelDescription> named_models();

/// One training step of a network, or the part of it that is asked for. Nothing where no network has this
/// name. Throws UsageError for an option that the network does not have, or a size that it cannot have.
std::optional<Model> named_model(std::string_view name, const ModelOptions& options);

}  // namespace jitterscope
