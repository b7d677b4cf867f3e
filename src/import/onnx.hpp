// ONNX files as models: what PyTorch would run for each of their operators.
#pragma once

#include <string_view>

#include "operation/model.hpp"
#include "operation/model_options.hpp"

namespace jitterscope {

/// Weights may be absent. Forward only, as in inference, unless a direction or `direction=training` is asked
/// for. Throws UsageError that names the file where it is damaged, has no graph or one with a cycle, or where
/// an axis needs a size: `file.onnx:batch=8,seq=128`.
Model import_onnx(std::string_view bytes, std::string_view file_name, const ModelOptions& options);

}  // namespace jitterscope
