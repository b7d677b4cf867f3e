#include "import/recorded_arguments.hpp"

#include <algorithm>
#include <charconv>
#include <type_traits>

#include <fmt/format.h>

#include "import/operator_conversion.hpp"
#include "jitterscope/error.hpp"
#include "operation/aten_text.hpp"
#include "operation/words.hpp"

// Reads operators' arguments from a node of an execution trace or an event of a profiler trace.

namespace jitterscope {
namespace {

using simdjson::dom::element;
using Kind = AtenArgument::Kind;

constexpr std::size_t kDeepestList = 8;

// The recorded fields of an argument; traces before schema 1.1.1 have no strides.
struct Recorded {
  element value, shape;
  std::optional<element> strides;
  std::string_view type;
};

template <class Value>
Value value_as(element value, std::string_view type) {
  if constexpr (std::is_same_v<Value, std::int64_t>) {
    if (const auto number = whole_number_of(value)) return *number;
  } else {
    Value result{};
    if (value.get(result) == simdjson::SUCCESS) return result;
  }
  throw FieldProblem{fmt::format("a value of type {} is something else", type)};
}

// Reads [tensor, storage, offset, elements, bytes of each, device].
void read_identity(RecordedArgument& argument, element value) {
  simdjson::dom::array parts;
  if (value.get(parts) != simdjson::SUCCESS || parts.size() < 6) return;
  std::string_view device;
  const auto storage = whole_number_of(parts.at(1).value()), offset = whole_number_of(parts.at(2).value());
  if (!storage || !offset) return;
  if (parts.at(5).get(device) != simdjson::SUCCESS) return;
  argument.identity = TensorIdentity{*storage, *offset};
  argument.device = device;
}

RecordedArgument read_tensor(const Recorded& recorded, std::string_view type, bool on_gpu) {
  RecordedArgument argument;
  if (type.starts_with("nullptr")) return argument;
  argument.value.kind = Kind::tensor;
  argument.value.text = element_type(type);
  if (argument.value.text.empty()) {
    argument.problem = fmt::format("tensors of type {} are not known", type);
  }
  argument.value.shape = integers_of(recorded.shape, "shapes");
  if (recorded.strides) argument.value.strides = integers_of(*recorded.strides, "strides");
  read_identity(argument, recorded.value);
  if (on_gpu && argument.device == "cpu") argument.value.text += "@cpu";
  return argument;
}

double real_of(element value) {
  std::string_view text;
  if (value.get(text) != simdjson::SUCCESS) return value_as<double>(value, "Double");
  double number = 0.0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc() && end == text.data() + text.size()) return number;
  throw FieldProblem{"a value of type Double is something else"};
}

RecordedArgument read_argument(const Recorded& recorded, bool on_gpu, std::size_t depth);

RecordedArgument read_list(const Recorded& recorded, std::string_view inside, bool on_gpu,
                           std::size_t depth) {
  if (depth >= kDeepestList) throw FieldProblem{"lists are nested too deep"};
  const std::vector<std::string_view> types = split_outside_brackets(inside);
  const auto values = value_as<simdjson::dom::array>(recorded.value, "list");
  const auto shapes = value_as<simdjson::dom::array>(recorded.shape, "list");
  if (values.size() != types.size() || shapes.size() != types.size()) {
    throw FieldProblem{"a list has another number of types or shapes than of values"};
  }
  std::optional<simdjson::dom::array> strides;
  if (recorded.strides) strides = value_as<simdjson::dom::array>(*recorded.strides, "list");
  RecordedArgument argument;
  argument.value.kind = Kind::list;
  auto value = values.begin(), shape = shapes.begin();
  auto stride = strides ? strides->begin() : values.begin();
  for (const std::string_view type : types) {
    const bool strided = strides && stride != strides->end();
    const RecordedArgument member = read_argument(
        {*value, *shape, strided ? std::optional<element>(*stride) : std::nullopt, type}, on_gpu, depth + 1);
    if (!member.problem.empty()) argument.problem = member.problem;
    argument.value.elements.push_back(member.value);
    ++value, ++shape;
    if (strided) ++stride;
  }
  return argument;
}

RecordedArgument read_argument(const Recorded& recorded, bool on_gpu, std::size_t depth) {
  constexpr std::string_view kTensor = "Tensor(", kList = "GenericList[";
  std::string_view type = recorded.type;
  if (type.starts_with(kTensor) && type.ends_with(')')) {
    return read_tensor(recorded, type.substr(kTensor.size(), type.size() - kTensor.size() - 1), on_gpu);
  }
  if (type.starts_with(kList) && type.ends_with(']')) {
    return read_list(recorded, type.substr(kList.size(), type.size() - kList.size() - 1), on_gpu, depth);
  }
  RecordedArgument argument;
  AtenArgument& value = argument.value;
  if (type == "Int" || type == "SymInt") {
    value.kind = Kind::integer, value.integer = value_as<std::int64_t>(recorded.value, type);
  } else if (type == "Bool") {
    value.kind = Kind::boolean, value.boolean = value_as<bool>(recorded.value, type);
  } else if (type == "Double") {
    value.kind = Kind::real, value.real = real_of(recorded.value);
  } else if (type == "String" || type == "Device") {
    value.kind = Kind::text, value.text = value_as<std::string_view>(recorded.value, type);
  } else if (type != "None") {
    argument.problem = fmt::format("its argument of type {} is not in the record", type);
  }
  return argument;
}

// Newer traces: {"inputs": {"values": …, "shapes": …}}. Before 1.1.0: {"inputs": …, "input_shapes": …}.
std::vector<RecordedArgument> read_side(simdjson::dom::object node, std::string_view plural,
                                        std::string_view singular, bool on_gpu) {
  simdjson::dom::object side;
  const bool nested = node.at_key(plural).get(side) == simdjson::SUCCESS;
  const auto column = [&](std::string_view name) {
    return nested ? array_field(side, name) : array_field(node, fmt::format("{}_{}", singular, name));
  };
  const simdjson::dom::array values = nested ? array_field(side, "values") : array_field(node, plural);
  const simdjson::dom::array shapes = column("shapes"), types = column("types");
  simdjson::dom::element ignored;
  const bool strided = nested && side.at_key("strides").get(ignored) == simdjson::SUCCESS;
  const simdjson::dom::array strides = strided ? array_field(side, "strides") : values;
  if (shapes.size() != values.size() || types.size() != values.size() ||
      (strided && strides.size() != values.size())) {
    throw FieldProblem{fmt::format("'{}' has not as many shapes, types and strides as values", plural)};
  }
  std::vector<RecordedArgument> result;
  auto shape = shapes.begin(), type = types.begin(), stride = strided ? strides.begin() : values.begin();
  for (const element value : values) {
    const std::optional<element> with = strided ? std::optional<element>(*stride) : std::nullopt;
    result.push_back(
        read_argument({value, *shape, with, value_as<std::string_view>(*type, "type")}, on_gpu, 0));
    ++shape, ++type, ++stride;
  }
  return result;
}

std::string_view schema_of(simdjson::dom::object node) {
  std::string_view schema;
  if (node.at_key("op_schema").get(schema) == simdjson::SUCCESS) return schema;
  simdjson::dom::array attributes;
  if (node.at_key("attrs").get(attributes) != simdjson::SUCCESS) return schema;
  for (const element attribute : attributes) {
    std::string_view name;
    if (attribute["name"].get(name) != simdjson::SUCCESS || name != "op_schema") continue;
    if (attribute["value"].get(schema) == simdjson::SUCCESS) break;
  }
  return schema;
}

// Drops missing arguments at the end for which the schema has defaults.
void drop_defaults(RecordedOperator& recorded, const OperatorSchema& schema) {
  std::vector<RecordedArgument>& arguments = recorded.arguments;
  while (!arguments.empty() && arguments.size() <= schema.has_default.size() &&
         arguments.back().value.kind == Kind::none && arguments.back().problem.empty() &&
         schema.has_default[arguments.size() - 1]) {
    arguments.pop_back();
  }
}

}  // namespace

RecordedOperator read_node(simdjson::dom::object node, bool on_gpu) {
  RecordedOperator recorded;
  recorded.name = text_field(node, "name");
  recorded.arguments = read_side(node, "inputs", "input", on_gpu);
  recorded.outputs = read_side(node, "outputs", "output", on_gpu);
  if (const std::string_view text = schema_of(node); !text.empty()) {
    OperatorSchema schema = parse_schema(text);
    drop_defaults(recorded, schema);
    recorded.overload = std::move(schema.overload);
    recorded.argument_names = std::move(schema.argument_names);
  } else {
    recorded.argument_names = known_argument_names(recorded.name);
  }
  return recorded;
}

// An event of a profiler trace has Input Dims, Input type, Input Strides and Concrete Inputs.

namespace {

// True if a value is made of what profiler traces write: they have neither tensors nor texts.
bool is_concrete(const AtenArgument& value) {
  return value.kind != Kind::tensor && value.kind != Kind::text &&
         std::ranges::all_of(value.elements, is_concrete);
}

// `concrete` is nullopt if the record has no such column.
RecordedArgument read_argument(std::string_view type, std::optional<std::string_view> concrete, element shape,
                               std::optional<element> strides) {
  RecordedArgument argument;
  if (const std::string_view tensor = element_type(type); !tensor.empty()) {
    argument.value.kind = Kind::tensor;
    argument.value.text = tensor;
    argument.value.shape = integers_of(shape, "Input Dims");
    if (strides) argument.value.strides = integers_of(*strides, "Input Strides");
  } else if ((type == "Scalar" || type == "ScalarList") && !concrete) {
    argument.problem =
        "the record has no 'Concrete Inputs', the values of its arguments, which PyTorch 2.1 and newer write";
  } else if (type == "Scalar" || type == "ScalarList" || (type.empty() && concrete && !concrete->empty())) {
    const std::optional<AtenArgument> value = parse_concrete(*concrete);
    if (value) argument.value = *value;
    if (!value)
      argument.problem = fmt::format("its argument {} is not recorded in full", in_quotes(*concrete));
  } else if (type == "TensorList" || type == "GenericList") {
    argument.value.kind = Kind::list;
    argument.problem = "a profiler trace does not record the tensors of a list";
    argument.remedy = "an execution trace (torch.profiler.ExecutionTraceObserver) does";
  } else if (!type.empty()) {
    argument.problem = fmt::format("its argument of type {} is not in the record", in_quotes(type));
  }
  return argument;
}

// Marks Python numbers and counters in place of a tensor: PyTorch keeps them in the host's memory, which the
// profiler does not say.
void mark_numbers(RecordedOperator& recorded) {
  constexpr std::string_view kNames[] = {"aten::add",  "aten::sub",  "aten::mul",  "aten::div",
                                         "aten::add_", "aten::sub_", "aten::mul_", "aten::div_"};
  const bool takes_number =
      std::find(std::begin(kNames), std::end(kNames), recorded.name) != std::end(kNames);
  if (!takes_number || recorded.arguments.size() < 2) return;
  AtenArgument& other = recorded.arguments[1].value;
  const bool number = other.kind == Kind::tensor && other.shape.empty();
  if (number && (other.text == "i64" || other.text == "f64" || other.text == "bool")) other.text += "@cpu";
}

}  // namespace

std::optional<AtenArgument> parse_concrete(std::string_view text) {
  try {
    Aten call = parse_aten(fmt::format("aten::f({})", text));
    const bool is_one = call.arguments.size() == 1 && call.argument_names.front().empty();
    if (is_one && is_concrete(call.arguments.front())) return std::move(call.arguments.front());
  } catch (const UsageError&) {
    // The text is no value.
  }
  return std::nullopt;
}

RecordedOperator read_event(std::string_view name, simdjson::dom::object arguments) {
  RecordedOperator recorded;
  recorded.name = name;
  simdjson::dom::array types, shapes, concrete, strides;
  if (arguments.at_key("Input Dims").get(shapes) != simdjson::SUCCESS) {
    shapes = array_field(arguments, "Input dims");  // before PyTorch 1.12
  }
  types = array_field(arguments, "Input type");
  const bool strided = arguments.at_key("Input Strides").get(strides) == simdjson::SUCCESS;
  const bool valued = arguments.at_key("Concrete Inputs").get(concrete) == simdjson::SUCCESS;
  const std::size_t count = types.size();
  if (shapes.size() != count || (strided && strides.size() != count) ||
      (valued && concrete.size() != count)) {
    throw FieldProblem{"'Input Dims', 'Input Strides' and 'Concrete Inputs' are not as many as 'Input type'"};
  }
  auto shape = shapes.begin();
  auto stride = strided ? strides.begin() : types.begin(), value = valued ? concrete.begin() : types.begin();
  for (const element type : types) {
    std::string_view type_text, value_text;
    if (type.get(type_text) != simdjson::SUCCESS) throw FieldProblem{"'Input type' holds more than strings"};
    if (valued && (*value).get(value_text) != simdjson::SUCCESS) {
      throw FieldProblem{"'Concrete Inputs' holds more than strings"};
    }
    recorded.arguments.push_back(read_argument(type_text, valued ? std::optional(value_text) : std::nullopt,
                                               *shape,
                                               strided ? std::optional<element>(*stride) : std::nullopt));
    ++shape, ++stride, ++value;
  }
  std::vector<RecordedArgument>& all = recorded.arguments;
  recorded.argument_names = known_argument_names(name);
  mark_numbers(recorded);
  recorded.overload = known_overload(recorded);
  while (!all.empty() && all.back().value.kind == Kind::none && all.back().problem.empty()) all.pop_back();
  return recorded;
}

}  // namespace jitterscope
