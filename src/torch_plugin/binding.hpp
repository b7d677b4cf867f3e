// Chooses the schema of an operator that takes the arguments, and puts each argument in its place.
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

/// Returns the name with the overload: aten::add.Tensor.
std::string full_name(const c10::OperatorName& name);
/// Returns the index of the schema's argument of this name; nullopt if it has none.
std::optional<std::size_t> place_of(const c10::FunctionSchema& schema, const std::string& name);

/// An operator with an argument in each place of its schema; null stands for the default.
class Binding {
 public:
  /// Takes the overload that the name contains, else the one that fits with the fewest conversions. Throws
  /// Refusal if this PyTorch lacks the operator or the arguments do not fit.
  explicit Binding(const Aten& aten);

  const c10::OperatorHandle& handle() const { return handle_; }
  const c10::FunctionSchema& schema() const { return handle_.schema(); }
  /// Returns the arguments in the schema's order.
  const std::vector<const AtenArgument*>& arguments() const { return arguments_; }
  /// Finds an argument by the schema's name; null if the default is taken or there is none of that name.
  const AtenArgument* find(std::string_view name) const;

 private:
  std::vector<const AtenArgument*> arguments_;
  c10::OperatorHandle handle_;  // last: choosing it fills the arguments
};

// Compares recorded arguments with the types of a schema, and converts them.

/// Returns how many values must change their kind (a number that stands for a tensor, a whole number for a
/// real one, one number for a list of a fixed length); nullopt if the argument does not fit.
std::optional<int> conversions_needed(const c10::Argument& expected, const AtenArgument& argument);

/// Returns words for messages: "a tensor", "a whole number", …
std::string described(const AtenArgument& argument);

/// Makes a recorded tensor; `position` is its index within a list.
using TensorMaker = std::function<at::Tensor(const AtenArgument&, std::size_t position)>;

/// Converts an argument. A recorded device becomes `device`, unless it is the host.
c10::IValue to_ivalue(const c10::Argument& expected, const AtenArgument& argument, at::Device device,
                      const TensorMaker& make_tensor);

}  // namespace jitterscope::torch_plugin
