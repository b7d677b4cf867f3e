// Arguments of an event of a profiler trace, from its Input Dims, Input type, Input Strides, Concrete Inputs.
#include <fmt/format.h>

#include <charconv>

#include "import/operator_schema.hpp"
#include "import/recorded_arguments.hpp"
#include "operation/words.hpp"

namespace jitterscope {
namespace {

using simdjson::dom::element;
using Kind = AtenArgument::Kind;

constexpr int kDeepestEventList = 8;

std::optional<AtenArgument> parse_number(std::string_view text) {
  const char* const end = text.data() + text.size();
  AtenArgument result;
  result.kind = Kind::integer;
  if (const auto [stop, error] = std::from_chars(text.data(), end, result.integer);
      error == std::errc() && stop == end) {
    return result;
  }
  result = {};
  result.kind = Kind::real;
  const auto [stop, error] = std::from_chars(text.data(), end, result.real);
  return error == std::errc() && stop == end ? std::optional(result) : std::nullopt;
}

std::optional<AtenArgument> parse_value(std::string_view text, int depth);

std::optional<AtenArgument> parse_list(std::string_view inside, int depth) {
  AtenArgument result;
  result.kind = Kind::list;
  if (depth >= kDeepestEventList) return std::nullopt;
  int brackets = 0;
  std::size_t begin = 0;
  for (std::size_t i = 0; i <= inside.size(); ++i) {
    const bool at_end = i == inside.size();
    if (!at_end && inside[i] == '[') ++brackets;
    if (!at_end && inside[i] == ']') --brackets;
    if (!at_end && (inside[i] != ',' || brackets != 0)) continue;
    if (trimmed(inside).empty()) break;
    const std::optional<AtenArgument> member = parse_value(inside.substr(begin, i - begin), depth + 1);
    if (!member) return std::nullopt;
    result.elements.push_back(*member);
    begin = i + 1;
  }
  return result;
}

std::optional<AtenArgument> parse_value(std::string_view text, int depth) {
  text = trimmed(text);
  AtenArgument result;
  if (text == "None") return result;
  if (text == "True" || text == "False") {
    result.kind = Kind::boolean, result.boolean = text == "True";
    return result;
  }
  if (text.size() >= 2 && text.front() == '[' && text.back() == ']') {
    return parse_list(text.substr(1, text.size() - 2), depth);
  }
  return parse_number(text);
}

// Nothing for `concrete`: the record has no such column.
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
    argument.problem =
        "a profiler trace does not record the tensors of a list; an execution trace (torch.profiler."
        "ExecutionTraceObserver) does";
  } else if (!type.empty()) {
    argument.problem = fmt::format("its argument of type {} is not in the record", in_quotes(type));
  }
  return argument;
}

// A Python number in the place of a tensor, or a counter: PyTorch keeps both in the host's memory, and the
// profiler does not say so.
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

std::optional<AtenArgument> parse_concrete(std::string_view text) { return parse_value(text, 0); }

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
