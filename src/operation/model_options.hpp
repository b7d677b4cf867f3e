// What may be asked of a model: resnet50:batch=64,dtype=f16,layout=nhwc,direction=fprop.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "jitterscope/operation.hpp"

namespace jitterscope {

struct ModelOptions {
  std::optional<std::int64_t> batch;
  std::optional<DataType> dtype;
  std::optional<Layout> layout;
  /// Nothing: forward and backward, as in training. fprop: what forward runs; dgrad, wgrad: of backward, the
  /// gradients of inputs (those of operations without weights among them) and of weights.
  std::optional<Direction> direction;
  bool training_asked = false;  ///< direction=training, which an ONNX file does not run otherwise
  std::map<std::string, std::int64_t> axes;  ///< values of an ONNX file's axes that have a name only
};

/// Reads `batch=64,dtype=f16,…`, empty text included. Any other name with a number is an axis. Throws
/// UsageError that names `target`.
ModelOptions parse_model_options(std::string_view text, std::string_view target);

}  // namespace jitterscope
