// Models as they are named on the command line: by name, by file, with options behind a colon.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "operation/model.hpp"

namespace jitterscope::cli {

/// Whether a target begins with a kind of operation and a colon: conv2d:…, aten::relu(…).
bool names_operation(std::string_view target);

/// Throws UsageError that says what --only was and a few names of layers that it may match.
[[noreturn]] void fail_nothing_chosen(const std::string& only, const std::vector<std::string>& names);

/// `resnet50`, `resnet50:batch=64,dtype=f16`, `trace.json.gz`, `model.onnx:batch=8`: a file that exists
/// first, then a network of jitterscope's own, then a model file by name. Throws UsageError with the nearest
/// known name, those of `others` among them.
Model read_model_target(const std::string& target, const std::vector<std::string>& others = {});

}  // namespace jitterscope::cli
