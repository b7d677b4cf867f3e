#include "model/network.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <unordered_map>

#include "jitterscope/error.hpp"
#include "model/gradients.hpp"

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

// The wanted calls of a graph become those of a model.
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
  // A stretch of the memory of a tensor that is no view.
  struct Place {
    Tensor memory = 0;
    Bytes begin, size;
  };
  struct Owner {
    std::size_t call = 0, operand = 0;
    Bytes begin, size;
  };

  // What is written in place lies in an earlier call's memory, as what is read.
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
  std::unordered_map<Tensor, std::vector<Owner>> owners_;  // by the memory; each the first with its part
  std::set<Tensor> written_;                               // memory that a call has written
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

}  // namespace jitterscope
