// Any file that holds a network's operations, as a model.
#pragma once

#include <filesystem>

#include "operation/model.hpp"
#include "operation/model_options.hpp"

namespace jitterscope {

/// Reads the file, known by its content, gzip or not. `options` apply to ONNX files: the others hold what
/// ran. Throws UsageError.
Model import_file(const std::filesystem::path& file, const ModelOptions& options);

}  // namespace jitterscope
