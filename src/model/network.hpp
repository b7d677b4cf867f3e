// Builds a network: tensors, the calls that read and write them, and the steps that backward has to undo.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "jitterscope/operation.hpp"
#include "operation/model.hpp"
#include "operation/pytorch.hpp"

namespace jitterscope {

/// A tensor that calls read and write: an index into Graph::tensors.
using Tensor = std::size_t;

struct TensorFacts {
  std::int64_t count = 0;
  DataType dtype = DataType::f32;
  bool needs_gradient = false;
  std::optional<Tensor> view_of = {};  ///< the tensor in whose memory it lies
  std::int64_t offset = 0;             ///< elements of that tensor before it
  bool is_computed = false;            ///< the network writes it: it is neither data nor weight
};

/// The part of a training step that a call belongs to.
enum class Role { forward, input_gradient, weight_gradient };

struct GraphCall {
  std::string name;  ///< with its suffix: layer1.0.conv1.fprop
  Operation operation;
  Role role = Role::forward;
  std::vector<Tensor> tensors;  ///< one for each operand, in the order of Operation::operands()
  std::string source = {};      ///< the call's origin, as in Layer::source
};

/// A forward step that backward has to undo.
struct Step {
  std::string name;                    ///< the module's path: layer1.0.conv1
  std::optional<Operation> operation;  ///< nullopt for an operator that is not timed
  std::vector<Tensor> inputs, outputs;
  bool adds_gradients = false;  ///< the outputs' gradients are added into the input's
};

struct Untimed {
  std::string name, reason;
  Role role = Role::forward;
};

struct Graph {
  std::vector<TensorFacts> tensors;
  std::vector<GraphCall> calls;
  std::vector<Step> steps;
  std::vector<Tensor> losses;  ///< tensors at which backward begins
  std::vector<Untimed> untimed;

  Tensor add_tensor(const TensorFacts& facts) {
    tensors.push_back(facts);
    return tensors.size() - 1;
  }
};

/// Returns the name of a step's call. Convolutions and products have two gradients in two calls (.fprop,
/// .dgrad, .wgrad); all else has .forward and .backward.
std::string call_name(const std::string& step, const Operation& forward, Role role);
/// Returns f32 for TF32, else the type itself: TF32 is how f32 is multiplied, not how it is stored.
DataType stored_type(DataType type);

// Builds a network call by call, with the tensors that each call reads. The backward pass follows by itself.

/// The data types that the layers compute in.
struct DataTypes {
  DataType convolution = kPytorchConvolutionOfF32, product = kPytorchProductOfF32, other = DataType::f32;
};
/// Returns the types for a dtype. If none is asked for, PyTorch's defaults: convolutions in TF32, products in
/// f32. For tf32, both in TF32; for any other, everything in it. Throws UsageError for an integer type.
DataTypes data_types_of(const ModelOptions& options);

class Network {
 public:
  Network(std::string name, std::string description);

  /// Adds data that the network is given; no gradient is computed for it.
  Tensor input(std::int64_t count, DataType dtype);
  /// Adds a weight that several calls or an untimed operator use. All other weights are added by add().
  Tensor parameter(std::int64_t count, DataType dtype);

  /// Adds a forward call and returns its first output, y. `inputs` are its first operands; further input
  /// operands become new weights. Throws UsageError that names the call if the shape is impossible.
  Tensor add(const std::string& name, const Operation::Parameters& operation,
             const std::vector<Tensor>& inputs, const std::string& source = {});

  /// The same, but y is written into the first input's memory, as by PyTorch's relu_ and add_.
  Tensor add_in_place(const std::string& name, const Operation::Parameters& operation,
                      const std::vector<Tensor>& inputs, const std::string& source = {});

  /// An operator that is not timed. If `backward` is empty, its backward pass runs nothing.
  struct UntimedStep {
    std::string forward, backward, reason;
  };
  Tensor add_untimed(const std::string& name, const UntimedStep& step, const std::vector<Tensor>& inputs,
                     std::int64_t count);
  /// Leaves an operator out: its output is its input.
  void skip(const UntimedStep& step);
  /// Splits a tensor into parts, without a copy. Backward copies the parts' gradients together.
  std::vector<Tensor> split(const std::string& name, Tensor whole, const std::vector<std::int64_t>& counts);
  /// Splits into equal parts, each picked by its index. Backward adds their gradients, each between zeros.
  std::vector<Tensor> unbind(const std::string& name, Tensor whole, std::int64_t parts);
  /// Selects rows of a tensor, without a copy. Backward writes the gradient between zeros.
  Tensor select(const std::string& name, Tensor whole, std::int64_t count);
  /// Makes backward begin at this tensor: a loss that is not timed reads it and gives its gradient.
  void loss(const std::string& operator_name, Tensor tensor, const std::string& reason);
  void note(std::string sentence) { notes_.push_back(std::move(sentence)); }

  const TensorFacts& facts(Tensor tensor) const { return graph_.tensors[tensor]; }

  Model to_model(const ModelOptions& options) const;

 private:
  std::vector<Tensor> parts_of(const std::string& name, Tensor whole, const std::vector<std::int64_t>& counts,
                               bool adds_gradients);
  bool needs_gradient(const std::vector<Tensor>& tensors) const;

  std::string name_, description_;
  std::vector<std::string> notes_;
  Graph graph_;
};

// The backward pass of a network, in the order of PyTorch's autograd.

/// Appends the calls of backward. Autograd runs ready steps by falling sequence number, so in reverse order.
/// Two gradients of one tensor are added as soon as the second is there.
void add_backward(Graph& graph);

}  // namespace jitterscope
