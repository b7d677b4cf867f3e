// Which schema of an operator takes the arguments, and which argument is which.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/function_schema.h>
#include <ATen/core/ivalue.h>

#include "jitterscope/operation.hpp"

namespace jitterscope::torch_plugin {

/// aten::add.Tensor
std::string full_name(const c10::OperatorName& name);
/// Which argument of the schema has the name.
std::optional<std::size_t> place_of(const c10::FunctionSchema& schema, const std::string& name);

/// An operator with an argument, or null for the default, in each place of its schema.
class Binding {
 public:
  /// With an overload in the name that one, else the one that fits with the fewest conversions. Throws
  /// Refusal for an operator that this PyTorch lacks, and where the arguments do not fit.
  explicit Binding(const Aten& aten);

  const c10::OperatorHandle& handle() const { return handle_; }
  const c10::FunctionSchema& schema() const { return handle_.schema(); }
  /// In the schema's order.
  const std::vector<const AtenArgument*>& arguments() const { return arguments_; }
  /// By the schema's name; null where the default is taken or there is none of that name.
  const AtenArgument* find(std::string_view name) const;

 private:
  std::vector<const AtenArgument*> arguments_;
  c10::OperatorHandle handle_;  // last: choosing it fills the arguments
};

// Recorded arguments against the types of a schema.

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
