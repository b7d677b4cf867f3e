#include "model/network.hpp"

#include <algorithm>
#include <set>
#include <string_view>
#include <type_traits>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "jitterscope/error.hpp"

namespace jitterscope {
namespace {

constexpr const char* kSelectBackward = "the gradient of a part is copied between zeros";

bool is_wanted(Role role, const std::optional<Direction>& direction) {
  if (!direction) return true;
  switch (*direction) {
    case Direction::fprop: return role == Role::forward;
    case Direction::dgrad: return role == Role::input_gradient;
    case Direction::wgrad: return role == Role::weight_gradient;
  }
  return true;
}

Operation checked(const std::string& name, const Operation::Parameters& parameters) {
  try {
    return Operation(parameters);
  } catch (const UsageError& error) {
    throw UsageError(fmt::format("{}: {}", name, error.what()));
  }
}

// Writes the wanted calls of a graph into a model.
class ModelWriter {
 public:
  ModelWriter(const Graph& graph, Model& model) : graph_(graph), model_(model) {}

  void add(const GraphCall& call) {
    Call result{layer_of(call), unused(call.name), {}};
    const std::vector<Operand> operands = call.operation.operands();
    for (std::size_t i = 0; i < call.tensors.size(); ++i) {
      const Place place = place_of(call.tensors[i], operands[i].bytes());
      connect(result, i, place);
      if (operands[i].role == OperandRole::output) {
        written_.insert(place.memory);
      } else if (graph_.tensors[place.memory].is_computed && !written_.contains(place.memory)) {
        ++result.unwritten;
      }
    }
    model_.layers[result.layer].names.push_back(result.name);
    model_.calls.push_back(std::move(result));
  }

 private:
  // A range in the memory of a tensor that is no view.
  struct Place {
    Tensor memory = 0;
    Bytes begin, size;
  };
  struct Owner {
    std::size_t call = 0, operand = 0;
    Bytes begin, size;
  };

  // An operand that is written in place lies in an earlier call's memory, as an operand that is read.
  void connect(Call& call, std::size_t operand, const Place& place) {
    const std::size_t here = model_.calls.size();
    std::vector<Owner>& owners = owners_[place.memory];
    const auto owner = std::find_if(owners.begin(), owners.end(), [&](const Owner& known) {
      return known.begin <= place.begin && place.begin + place.size <= known.begin + known.size;
    });
    if (owner == owners.end()) {
      owners.push_back({here, operand, place.begin, place.size});
    } else if (owner->call != here) {
      call.inputs.push_back({operand, owner->call, owner->operand, place.begin - owner->begin});
    }
  }

  std::size_t layer_of(const GraphCall& call) {
    const auto [found, is_new] = layers_.try_emplace(call.operation.text(), model_.layers.size());
    if (is_new) model_.layers.push_back({{}, call.operation, call.source});
    return found->second;
  }
  std::string unused(const std::string& wanted) {
    std::string name = wanted;
    for (int number = 2; !names_.insert(name).second; ++number) name = fmt::format("{}_{}", wanted, number);
    return name;
  }
  Place place_of(Tensor tensor, Bytes size) const {
    const std::int64_t element = element_size(graph_.tensors[tensor].dtype).value();
    std::int64_t before = 0;
    while (const auto whole = graph_.tensors[tensor].view_of) {
      before += graph_.tensors[tensor].offset;
      tensor = *whole;
    }
    return {tensor, Bytes(before * element), size};
  }

  const Graph& graph_;
  Model& model_;
  std::unordered_map<std::string, std::size_t> layers_;
  std::unordered_map<Tensor, std::vector<Owner>> owners_;  // by memory: the first operand to use each part
  std::set<Tensor> written_;                               // memory that calls have written
  std::set<std::string> names_;
};

void count_untimed(Model& model, const Untimed& untimed) {
  const auto same =
      std::find_if(model.untimed.begin(), model.untimed.end(), [&](const UntimedOperator& known) {
        return known.name == untimed.name && known.reason == untimed.reason;
      });
  if (same != model.untimed.end()) {
    ++same->count;
  } else {
    model.untimed.push_back({untimed.name, 1, untimed.reason});
  }
}

}  // namespace

DataTypes data_types_of(const ModelOptions& options) {
  if (!options.dtype) return {};
  switch (*options.dtype) {
    case DataType::tf32: return {DataType::tf32, DataType::tf32, DataType::f32};
    case DataType::i32:
    case DataType::i64: throw UsageError("dtype=i64: no network computes in integers");
    default: return {*options.dtype, *options.dtype, *options.dtype};
  }
}

Network::Network(std::string name, std::string description)
    : name_(std::move(name)), description_(std::move(description)) {}

Tensor Network::input(std::int64_t count, DataType dtype) { return graph_.add_tensor({count, dtype}); }
Tensor Network::parameter(std::int64_t count, DataType dtype) {
  return graph_.add_tensor({count, dtype, true});
}

Tensor Network::add(const std::string& name, const Operation::Parameters& parameters,
                    const std::vector<Tensor>& inputs, const std::string& source) {
  const Operation operation = checked(name, parameters);
  Step step{name, operation, inputs, {}};
  const std::vector<Operand> operands = operation.operands();
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const Operand& operand = operands[i];
    if (operand.role == OperandRole::output) {
      step.outputs.push_back(graph_.add_tensor({.count = operand.count,
                                                .dtype = operand.dtype,
                                                .needs_gradient = needs_gradient(step.inputs),
                                                .is_computed = true}));
    } else if (i >= inputs.size()) {
      step.inputs.push_back(parameter(operand.count, operand.dtype));
    }
  }
  GraphCall call{call_name(name, operation, Role::forward), operation, Role::forward, step.inputs, source};
  call.tensors.insert(call.tensors.end(), step.outputs.begin(), step.outputs.end());
  graph_.calls.push_back(std::move(call));
  graph_.steps.push_back(step);
  return step.outputs.front();
}

Tensor Network::add_in_place(const std::string& name, const Operation::Parameters& parameters,
                             const std::vector<Tensor>& inputs, const std::string& source) {
  const Tensor output = add(name, parameters, inputs, source);
  graph_.tensors[output].view_of = inputs.front();
  return output;
}

Tensor Network::add_untimed(const std::string& name, const UntimedStep& untimed,
                            const std::vector<Tensor>& inputs, std::int64_t count) {
  const bool trained = needs_gradient(inputs);
  const Tensor output = graph_.add_tensor({.count = count,
                                           .dtype = graph_.tensors[inputs.front()].dtype,
                                           .needs_gradient = trained,
                                           .is_computed = true});
  graph_.steps.push_back({name, std::nullopt, inputs, {output}});
  graph_.untimed.push_back({untimed.forward, untimed.reason, Role::forward});
  if (trained && !untimed.backward.empty())
    graph_.untimed.push_back({untimed.backward, untimed.reason, Role::input_gradient});
  return output;
}

void Network::skip(const UntimedStep& untimed) {
  graph_.untimed.push_back({untimed.forward, untimed.reason, Role::forward});
  if (!untimed.backward.empty())
    graph_.untimed.push_back({untimed.backward, untimed.reason, Role::input_gradient});
}

std::vector<Tensor> Network::parts_of(const std::string& name, Tensor whole,
                                      const std::vector<std::int64_t>& counts, bool adds_gradients) {
  const TensorFacts facts = graph_.tensors[whole];
  Step step{name, std::nullopt, {whole}, {}, adds_gradients};
  std::int64_t offset = 0;
  for (const std::int64_t count : counts) {
    step.outputs.push_back(graph_.add_tensor({count, facts.dtype, facts.needs_gradient, whole, offset}));
    offset += count;
  }
  graph_.steps.push_back(step);
  return step.outputs;
}

std::vector<Tensor> Network::split(const std::string& name, Tensor whole,
                                   const std::vector<std::int64_t>& counts) {
  if (graph_.tensors[whole].needs_gradient) {
    graph_.untimed.push_back(
        {"aten::cat", "the gradients of a tensor's parts are copied together", Role::input_gradient});
  }
  return parts_of(name, whole, counts, false);
}

std::vector<Tensor> Network::unbind(const std::string& name, Tensor whole, std::int64_t parts) {
  const TensorFacts facts = graph_.tensors[whole];
  for (std::int64_t i = 0; facts.needs_gradient && i < parts; ++i)
    graph_.untimed.push_back({"aten::select_backward", kSelectBackward, Role::input_gradient});
  return parts_of(name, whole, std::vector(static_cast<std::size_t>(parts), facts.count / parts), true);
}

Tensor Network::select(const std::string& name, Tensor whole, std::int64_t count) {
  const TensorFacts facts = graph_.tensors[whole];
  const Tensor part = graph_.add_tensor({count, facts.dtype, facts.needs_gradient, whole});
  graph_.steps.push_back({name, std::nullopt, {whole}, {part}});
  if (facts.needs_gradient) {
    graph_.untimed.push_back(
        {"aten::select_backward", "the gradient of a part is copied between zeros", Role::input_gradient});
  }
  return part;
}

void Network::loss(const std::string& operator_name, Tensor tensor, const std::string& reason) {
  graph_.losses.push_back(tensor);
  graph_.untimed.push_back({operator_name + "_forward", reason, Role::forward});
  graph_.untimed.push_back({operator_name + "_backward", reason, Role::input_gradient});
}

bool Network::needs_gradient(const std::vector<Tensor>& tensors) const {
  return std::any_of(tensors.begin(), tensors.end(),
                     [&](Tensor tensor) { return graph_.tensors[tensor].needs_gradient; });
}

Model Network::to_model(const ModelOptions& options) const {
  Graph graph = graph_;
  if (options.direction != Direction::fprop) add_backward(graph);
  Model model;
  model.name = name_;
  model.description = description_;
  model.notes = notes_;
  ModelWriter writer(graph, model);
  for (const GraphCall& call : graph.calls) {
    if (is_wanted(call.role, options.direction)) writer.add(call);
  }
  for (const Untimed& untimed : graph.untimed) {
    if (is_wanted(untimed.role, options.direction)) count_untimed(model, untimed);
  }
  return model;
}

namespace {

bool has_two_gradients(const Operation& operation) {
  const Operation::Parameters& parameters = operation.parameters();
  return std::holds_alternative<Conv2d>(parameters) || std::holds_alternative<Linear>(parameters) ||
         std::holds_alternative<Matmul>(parameters);
}

}  // namespace

std::string call_name(const std::string& step, const Operation& forward, Role role) {
  if (!has_two_gradients(forward)) return step + (role == Role::forward ? ".forward" : ".backward");
  switch (role) {
    case Role::forward: return step + ".fprop";
    case Role::input_gradient: return step + ".dgrad";
    case Role::weight_gradient: return step + ".wgrad";
  }
  return step;
}

DataType stored_type(DataType type) { return type == DataType::tf32 ? DataType::f32 : type; }

namespace {

/// Tensors by the names of their operands.
using Named = std::vector<std::pair<std::string, Tensor>>;

class Backward {
 public:
  explicit Backward(Graph& graph) : graph_(graph), gradients_(graph.tensors.size()) {}

  void run() {
    for (const Tensor loss : graph_.losses) gradients_[loss] = unwritten(loss);
    for (auto step = graph_.steps.rbegin(); step != graph_.steps.rend(); ++step) {
      undo(*step);
      add_up(step->name);
    }
  }

 private:
  void undo(const Step& step);
  void undo_untimed(const Step& step);
  void undo_timed(const Step& step, Tensor dy);
  void undo_convolution(const Step& step, const Conv2d& conv, Tensor dy);
  void undo_product(const Step& step, const Matmul& product, Tensor dy);
  void undo_elementwise(const Step& step, const Elementwise& elementwise, Tensor dy);
  template <class Shape>
  void undo_in_one_call(const Step& step, Shape shape, Tensor dy);
  void sum_of_bias();

  std::vector<Tensor> run_call(std::string name, const Operation& operation, Role role, const Named& known);
  void give(Tensor target, Tensor gradient) {
    if (wants(target)) given_.emplace_back(target, gradient);
  }
  void give_all(const Operation& backward, const Named& forward, const std::vector<Tensor>& written);
  void add_up(const std::string& step);

  bool wants(Tensor tensor) const { return graph_.tensors[tensor].needs_gradient; }
  Tensor unwritten(Tensor like) {
    return graph_.add_tensor(
        {.count = graph_.tensors[like].count, .dtype = graph_.tensors[like].dtype, .is_computed = true});
  }

  Graph& graph_;
  std::vector<std::optional<Tensor>> gradients_;  // for each of forward's tensors
  std::vector<std::pair<Tensor, Tensor>> given_;  // target and gradient, from the step being undone
};

Named named_tensors(const Step& step) {
  Named result;
  const std::vector<Operand> operands = step.operation->operands();
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const bool is_input = i < step.inputs.size();
    result.emplace_back(operands[i].name, is_input ? step.inputs[i] : step.outputs[i - step.inputs.size()]);
  }
  return result;
}

std::optional<Tensor> find(const Named& tensors, std::string_view name) {
  for (const auto& [known, tensor] : tensors) {
    if (known == name) return tensor;
  }
  return std::nullopt;
}

// Adds a call that reads the tensors known by operand name. Returns the tensors that it writes.
std::vector<Tensor> Backward::run_call(std::string name, const Operation& operation, Role role,
                                       const Named& known) {
  GraphCall call{std::move(name), operation, role, {}, {}};
  std::vector<Tensor> written;
  for (const Operand& operand : operation.operands()) {
    const auto source = operand.role == OperandRole::input ? find(known, operand.name) : std::nullopt;
    const bool is_output = operand.role == OperandRole::output;
    call.tensors.push_back(
        source
            ? *source
            : graph_.add_tensor({.count = operand.count, .dtype = operand.dtype, .is_computed = is_output}));
    if (operand.role == OperandRole::output) written.push_back(call.tensors.back());
  }
  graph_.calls.push_back(std::move(call));
  return written;
}

void Backward::add_up(const std::string& step) {
  for (const auto& [target, gradient] : given_) {
    std::optional<Tensor>& sum = gradients_[target];
    if (sum) {
      const TensorFacts& facts = graph_.tensors[target];
      const Operation add(Elementwise{ElementwiseKind::add, facts.count, stored_type(facts.dtype)});
      const Named known = {{"a", *sum}, {"b", gradient}};
      sum = run_call(step + ".accumulate.backward", add, Role::input_gradient, known).front();
    } else {
      sum = gradient;
    }
  }
  given_.clear();
}

// The output `dx` is the gradient of the forward operand `x`.
void Backward::give_all(const Operation& backward, const Named& forward, const std::vector<Tensor>& written) {
  auto tensor = written.begin();
  for (const Operand& operand : backward.operands()) {
    if (operand.role != OperandRole::output) continue;
    if (const auto target = find(forward, operand.name.substr(1))) give(*target, *tensor);
    ++tensor;
  }
}

void Backward::sum_of_bias() {
  graph_.untimed.push_back({"aten::sum",
                            "the gradient of a bias is a sum, for which jitterscope has no operation",
                            Role::weight_gradient});
}

template <class Shape>
void Backward::undo_in_one_call(const Step& step, Shape shape, Tensor dy) {
  shape.pass = Pass::backward;
  const Operation backward(shape);
  const Named forward = named_tensors(step);
  Named known = forward;
  known.emplace_back("dy", dy);
  const Role role = std::is_same_v<Shape, Embedding> ? Role::weight_gradient : Role::input_gradient;
  const std::string name = call_name(step.name, *step.operation, role);
  give_all(backward, forward, run_call(name, backward, role, known));
}

void Backward::undo_convolution(const Step& step, const Conv2d& conv, Tensor dy) {
  // A transposed convolution is the data gradient of its mirror image: its input is called dy there, and the
  // gradient of its output takes the place of x.
  const bool transposed = conv.direction == Direction::dgrad;
  const Named forward = named_tensors(step);
  const Tensor data = step.inputs[0], weight = step.inputs[1];
  const auto gradient = [&](Direction direction, Role role, const Named& known) {
    Conv2d backward = conv;
    backward.direction = direction;
    return run_call(call_name(step.name, *step.operation, role), Operation(backward), role, known).front();
  };
  if (wants(data)) {
    const Named known = {{transposed ? "x" : "dy", dy}, {"w", weight}};
    const Direction direction = transposed ? Direction::fprop : Direction::dgrad;
    give(data, gradient(direction, Role::input_gradient, known));
  }
  const Named known = {{"x", transposed ? dy : data}, {"dy", transposed ? data : dy}};
  if (wants(weight)) give(weight, gradient(Direction::wgrad, Role::weight_gradient, known));
}

// Follows mm_mat1_backward and mm_mat2_backward of torch/csrc/autograd: a gradient is stored as its matrix,
// so a transposed matrix's is computed transposed. Those of bmm go by the sizes alone (derivatives.yaml).
void Backward::undo_product(const Step& step, const Matmul& product, Tensor dy) {
  const std::int64_t m = product.m, n = product.n, k = product.k;
  const bool ta = product.transpose_a, tb = product.transpose_b, is_batch = product.batch > 1;
  const Tensor a = step.inputs[0], b = step.inputs[1];
  const auto gradient = [&](const Matmul& shape, Role role, Tensor left, Tensor right) {
    Matmul backward = shape;
    backward.batch = product.batch;
    backward.dtype = product.dtype;
    const Named known = {{"a", left}, {"b", right}};
    return run_call(call_name(step.name, *step.operation, role), Operation(backward), role, known).front();
  };
  const auto undo_left = [&] {
    if (!wants(a)) return;
    const Tensor da = ta && !is_batch ? gradient({k, m, n, 1, tb, true}, Role::input_gradient, b, dy)
                                      : gradient({m, k, n, 1, false, !tb}, Role::input_gradient, dy, b);
    give(a, da);
  };
  // The backward pass of addmm goes from mat1 to mat2, that of mm and bmm from mat2 to self.
  if (product.bias) undo_left();
  if (wants(b)) {
    const Tensor db = tb && !is_batch ? gradient({n, k, m, 1, true, ta}, Role::weight_gradient, dy, a)
                                      : gradient({k, n, m, 1, !ta, false}, Role::weight_gradient, a, dy);
    give(b, db);
  }
  if (!product.bias) undo_left();
  if (product.bias) sum_of_bias();
}

void Backward::undo_elementwise(const Step& step, const Elementwise& forward, Tensor dy) {
  const auto in_one_call = [&](ElementwiseKind kind) {
    const Operation backward(Elementwise{kind, forward.count, forward.dtype});
    Named known = named_tensors(step);
    known.emplace_back("dy", dy);
    const std::string name = call_name(step.name, *step.operation, Role::input_gradient);
    give(step.inputs[0], run_call(name, backward, Role::input_gradient, known).front());
  };
  switch (forward.kind) {
    case ElementwiseKind::add:
      for (const Tensor input : step.inputs) give(input, dy);
      return;
    case ElementwiseKind::mul:
      for (const std::size_t side : {1u, 0u}) {  // in MulBackward0's order: other, then self
        if (!wants(step.inputs[side])) continue;
        const std::string name = step.name + (side == 0 ? ".a" : ".b") + ".backward";
        const Named known = {{"a", dy}, {"b", step.inputs[1 - side]}};
        give(step.inputs[side], run_call(name, Operation(forward), Role::input_gradient, known).front());
      }
      return;
    case ElementwiseKind::relu: return in_one_call(ElementwiseKind::relu_backward);
    case ElementwiseKind::relu6: return in_one_call(ElementwiseKind::relu6_backward);
    case ElementwiseKind::sigmoid: return in_one_call(ElementwiseKind::sigmoid_backward);
    case ElementwiseKind::tanh: return in_one_call(ElementwiseKind::tanh_backward);
    case ElementwiseKind::silu: return in_one_call(ElementwiseKind::silu_backward);
    case ElementwiseKind::gelu: return in_one_call(ElementwiseKind::gelu_backward);
    default: return;  // fill and backward forms have no gradient
  }
}

void Backward::undo_timed(const Step& step, Tensor dy) {
  std::visit(
      [&](const auto& shape) {
        using Shape = std::decay_t<decltype(shape)>;
        if constexpr (std::is_same_v<Shape, Conv2d>) {
          undo_convolution(step, shape, dy);
        } else if constexpr (std::is_same_v<Shape, Matmul>) {
          undo_product(step, shape, dy);
        } else if constexpr (std::is_same_v<Shape, Linear>) {
          undo_product(step, {shape.n, shape.out, shape.in, 1, false, true, shape.bias, shape.dtype}, dy);
        } else if constexpr (std::is_same_v<Shape, Elementwise>) {
          undo_elementwise(step, shape, dy);
        } else if constexpr (std::is_same_v<Shape, BiasAdd>) {
          give(step.inputs[0], dy);
          sum_of_bias();
          give(step.inputs[1], unwritten(step.inputs[1]));
        } else if constexpr (std::is_same_v<Shape, Copy>) {
          give(step.inputs[0], dy);
        } else if constexpr (requires { shape.pass; }) {
          undo_in_one_call(step, shape, dy);
        }
      },
      step.operation->parameters());
}

void Backward::undo_untimed(const Step& step) {
  const auto gradients = std::count_if(step.outputs.begin(), step.outputs.end(),
                                       [&](Tensor output) { return gradients_[output].has_value(); });
  for (const Tensor input : step.inputs) {
    for (int i = 0; wants(input) && i < (step.adds_gradients ? gradients : 1); ++i)
      give(input, unwritten(input));
  }
}

void Backward::undo(const Step& step) {
  const auto has_gradient = [&](Tensor output) { return gradients_[output].has_value(); };
  if (std::none_of(step.outputs.begin(), step.outputs.end(), has_gradient)) return;
  if (std::none_of(step.inputs.begin(), step.inputs.end(), [&](Tensor input) { return wants(input); }))
    return;
  if (!step.operation) return undo_untimed(step);
  if (const auto dy = gradients_[step.outputs.front()]) undo_timed(step, *dy);
}

}  // namespace

void add_backward(Graph& graph) { Backward(graph).run(); }

}  // namespace jitterscope
