// A network while it is built: tensors, the calls that read and write them, and what backward has to undo.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "jitterscope/operation.hpp"

namespace jitterscope {

/// What calls read and write: an index into Graph::tensors.
using Tensor = std::size_t;

struct TensorFacts {
  std::int64_t count = 0;
  DataType dtype = DataType::f32;
  bool needs_gradient = false;
  std::optional<Tensor> view_of = {};  ///< it lies in the memory of another one
  std::int64_t offset = 0;             ///< elements of that one before it
  bool is_computed = false;            ///< the network writes it: no data, no weight
};

/// Which part of a training step a call belongs to.
enum class Role { forward, input_gradient, weight_gradient };

struct GraphCall {
  std::string name;  ///< with its suffix: layer1.0.conv1.fprop
  Operation operation;
  Role role = Role::forward;
  std::vector<Tensor> tensors;  ///< of each operand, as Operation::operands() counts
  std::string source = {};      ///< what it was made from, as Layer::source
};

/// What backward has to undo, in forward's order.
struct Step {
  std::string name;                    ///< the module's path: layer1.0.conv1
  std::optional<Operation> operation;  ///< none for an operator that is not timed
  std::vector<Tensor> inputs, outputs;
  bool adds_gradients = false;  ///< each output gives a gradient of its own, and they are added
};

struct Untimed {
  std::string name, reason;
  Role role = Role::forward;
};

struct Graph {
  std::vector<TensorFacts> tensors;
  std::vector<GraphCall> calls;
  std::vector<Step> steps;
  std::vector<Tensor> losses;  ///< where backward begins
  std::vector<Untimed> untimed;

  Tensor add_tensor(const TensorFacts& facts) {
    tensors.push_back(facts);
    return tensors.size() - 1;
  }
};

/// Products have two gradients in two calls (.fprop, .dgrad, .wgrad); all else has .forward and .backward.
std::string call_name(const std::string& step, const Operation& forward, Role role);
/// TF32 is how f32 is multiplied, not how it is stored.
DataType stored_type(DataType type);

}  // namespace jitterscope
