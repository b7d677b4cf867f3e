// A network while it is built: tensors, the calls that read and write them, and what backward has to undo.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "jitterscope/operation.hpp"
#include "operation/model.hpp"
#include "operation/pytorch.hpp"

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

// A network as it is built: call by call, with what each one reads. Its backward pass follows by itself.

/// What the layers compute in.
struct DataTypes {
  DataType convolution = kPytorchConvolutionOfF32, product = kPytorchProductOfF32, other = DataType::f32;
};
/// Nothing asked for: as PyTorch does by default, convolutions in TF32 and products in f32. tf32: both in
/// TF32. Any other: everything in it. Throws UsageError for a type that nothing computes in.
DataTypes data_types_of(const ModelOptions& options);

class Network {
 public:
  Network(std::string name, std::string description);

  /// Data that the network is given: no gradient is computed for it.
  Tensor input(std::int64_t count, DataType dtype);
  /// A weight that several calls or an untimed operator use. All others come with the call that reads them.
  Tensor parameter(std::int64_t count, DataType dtype);

  /// Runs a forward pass. `inputs` are those of the first operands; the further ones are its weights. Gives
  /// what it writes first: y. Throws UsageError that names the call where the shape is impossible.
  Tensor add(const std::string& name, const Operation::Parameters& operation,
             const std::vector<Tensor>& inputs, const std::string& source = {});

  /// The same, but y is written where the first input lies, as by PyTorch's relu_ and add_.
  Tensor add_in_place(const std::string& name, const Operation::Parameters& operation,
                      const std::vector<Tensor>& inputs, const std::string& source = {});

  /// An operator without a kind of operation. It gives one tensor of `count` elements. Empty `backward`: its
  /// backward pass runs nothing.
  struct UntimedStep {
    std::string forward, backward, reason;
  };
  Tensor add_untimed(const std::string& name, const UntimedStep& step, const std::vector<Tensor>& inputs,
                     std::int64_t count);
  /// An operator that is left out: its output is its input.
  void skip(const UntimedStep& step);
  /// Parts of a tensor, without a copy. Backward copies their gradients together.
  std::vector<Tensor> split(const std::string& name, Tensor whole, const std::vector<std::int64_t>& counts);
  /// As many equal parts, each picked by its index: backward adds their gradients, with zeros around each.
  std::vector<Tensor> unbind(const std::string& name, Tensor whole, std::int64_t parts);
  /// Rows of a tensor, without a copy. Backward writes its gradient with zeros around it.
  Tensor select(const std::string& name, Tensor whole, std::int64_t count);
  /// Where backward begins: a loss that is not timed reads this tensor and gives its gradient.
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

/// Appends the calls of backward. Autograd runs what is ready by falling sequence number, that is the steps
/// in reverse; two gradients of one tensor are added as soon as the second one is there.
void add_backward(Graph& graph);

}  // namespace jitterscope
