// Models as a call names them: resnet50, resnet50:batch=64,dtype=f16, or a model file's name.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "operation/model.hpp"

namespace jitterscope::cli {

/// Networks that are built in and model files, sorted.
std::vector<std::string> known_models();

/// A network that is built in, with its options after a colon; else a file of models_folders(). Nothing where
/// neither has this name. Throws UsageError for an option that it does not have.
std::optional<Model> find_known_model(const std::string& target);

}  // namespace jitterscope::cli
