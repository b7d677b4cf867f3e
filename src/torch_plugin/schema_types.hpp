// Recorded arguments against the types of a schema.
#pragma once

#include <ATen/core/function_schema.h>
#include <ATen/core/ivalue.h>

#include <functional>
#include <optional>
#include <string>

#include "jitterscope/operation.hpp"

namespace jitterscope::torch_plugin {

/// How many values must change their kind (a number that stands for a tensor, a whole number for a real one,
/// one number for a list of a fixed length); nothing where the argument does not fit.
std::optional<int> conversions_needed(const c10::Argument& expected, const AtenArgument& argument);

/// "a tensor", "a whole number", …
std::string described(const AtenArgument& argument);

/// Makes a tensor that was recorded; `position` counts within a list.
using TensorMaker = std::function<at::Tensor(const AtenArgument&, std::size_t position)>;

/// A device that was recorded becomes `device`, unless it is the host.
c10::IValue to_ivalue(const c10::Argument& expected, const AtenArgument& argument, at::Device device,
                      const TensorMaker& make_tensor);

}  // namespace jitterscope::torch_plugin
