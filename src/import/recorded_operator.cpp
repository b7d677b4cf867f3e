#include "import/recorded_operator.hpp"

#include <algorithm>
#include <utility>

#include "operation/words.hpp"

namespace jitterscope {

using ValueKind = AtenArgument::Kind;

const RecordedArgument* Arguments::find(std::string_view name) const {
  const std::vector<std::string>& names = recorded_.argument_names;
  const auto found = std::find(names.begin(), names.end(), name);
  const auto index = static_cast<std::size_t>(found - names.begin());
  return index < std::min(names.size(), recorded_.arguments.size()) ? &recorded_.arguments[index] : nullptr;
}

const AtenArgument& Arguments::value(std::string_view name, ValueKind kind) const {
  const RecordedArgument* argument = find(name);
  require_native(argument != nullptr && argument->problem.empty() && argument->value.kind == kind);
  return argument->value;
}

bool Arguments::has_tensor(std::string_view name) const {
  const RecordedArgument* argument = find(name);
  return argument != nullptr && argument->value.kind == ValueKind::tensor;
}

const AtenArgument& Arguments::tensor(std::string_view name) const { return value(name, ValueKind::tensor); }
std::int64_t Arguments::integer(std::string_view name) const {
  return value(name, ValueKind::integer).integer;
}
bool Arguments::boolean(std::string_view name) const { return value(name, ValueKind::boolean).boolean; }

double Arguments::number(std::string_view name) const {
  const RecordedArgument* argument = find(name);
  require_native(argument != nullptr && argument->problem.empty());
  if (argument->value.kind == ValueKind::real) return argument->value.real;
  return static_cast<double>(integer(name));
}

double Arguments::number_or(std::string_view name, double absent) const {
  const RecordedArgument* argument = find(name);
  return argument == nullptr || argument->value.kind == ValueKind::none ? absent : number(name);
}

bool Arguments::boolean_or(std::string_view name, bool absent) const {
  const RecordedArgument* argument = find(name);
  return argument == nullptr || argument->value.kind == ValueKind::none ? absent : boolean(name);
}

std::vector<std::int64_t> Arguments::integers(std::string_view name) const {
  std::vector<std::int64_t> result;
  for (const AtenArgument& element : value(name, ValueKind::list).elements) {
    require_native(element.kind == ValueKind::integer);
    result.push_back(element.integer);
  }
  return result;
}

std::pair<std::int64_t, std::int64_t> Arguments::pair(std::string_view name) const {
  const std::vector<std::int64_t> sides = integers(name);
  require_native(sides.size() == 1 || sides.size() == 2);
  return {sides.front(), sides.back()};
}

std::vector<bool> Arguments::booleans(std::string_view name) const {
  std::vector<bool> result;
  for (const AtenArgument& element : value(name, ValueKind::list).elements) {
    require_native(element.kind == ValueKind::boolean);
    result.push_back(element.boolean);
  }
  return result;
}

std::optional<TensorIdentity> Arguments::identity(const TensorPlace& place) const {
  if (place.output >= 0) {
    const auto index = static_cast<std::size_t>(place.output);
    return index < recorded_.outputs.size() ? recorded_.outputs[index].identity : std::nullopt;
  }
  const RecordedArgument* argument = find(place.name);
  return argument == nullptr ? std::nullopt : argument->identity;
}

namespace {

void add_argument(OperatorSchema& schema, std::string_view piece) {
  const std::size_t equals = piece.find('=');
  const std::string_view declared = trimmed(piece.substr(0, equals));
  if (declared.empty() || declared == "*") return;
  const std::size_t space = declared.rfind(' ');
  schema.argument_names.emplace_back(space == std::string_view::npos ? declared : declared.substr(space + 1));
  schema.has_default.push_back(equals != std::string_view::npos);
}

}  // namespace

std::vector<std::string_view> split_outside_brackets(std::string_view text) {
  constexpr std::string_view kOpening = "[(<", kClosing = "])>";
  std::vector<std::string_view> pieces;
  int depth = 0;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (kOpening.find(text[i]) != std::string_view::npos) ++depth;
    if (kClosing.find(text[i]) != std::string_view::npos) --depth;
    if (text[i] != ',' || depth != 0) continue;
    pieces.push_back(text.substr(begin, i - begin));
    begin = i + 1;
  }
  if (!text.empty()) pieces.push_back(text.substr(begin));
  return pieces;
}

OperatorSchema parse_schema(std::string_view text) {
  OperatorSchema schema;
  const std::size_t open = text.find('(');
  if (open == std::string_view::npos) return schema;
  const std::string_view name = text.substr(0, open);
  if (const std::size_t dot = name.find('.'); dot != std::string_view::npos) {
    schema.overload = name.substr(dot + 1);
  }
  const std::size_t close = text.find(") ->", open);
  if (close == std::string_view::npos) return schema;
  for (const std::string_view piece : split_outside_brackets(text.substr(open + 1, close - open - 1)))
    add_argument(schema, piece);
  return schema;
}

namespace {

struct Overload {
  std::string_view names;  ///< operators without aten::, with spaces around each
  std::string_view kinds;  ///< t tensor, s number, l list, n none, ? anything; `*` the rest is anything
  std::string_view overload;
};

// From native_functions.yaml of PyTorch 2.11; the first match counts. In-place forms have the same overloads.
constexpr Overload kOverloads[] = {
    {" add sub mul div eq ne lt le gt ge remainder bitwise_and bitwise_or bitwise_xor floor_divide ", "tt",
     "Tensor"},
    {" add sub ", "tt?", "Tensor"},
    {" add sub ", "ts?", "Scalar"},
    {" div ", "tt?", "Tensor_mode"},
    {" add sub mul div eq ne lt le gt ge remainder floor_divide ", "ts", "Scalar"},
    {" bitwise_and bitwise_or bitwise_xor ", "ts", "Scalar"},
    {" rsub ", "ts*", "Scalar"},
    {" rsub ", "tt*", "Tensor"},
    {" pow ", "ts", "Tensor_Scalar"},
    {" pow ", "tt", "Tensor_Tensor"},
    {" pow ", "st", "Scalar"},
    {" sum ", "tl*", "dim_IntList"},
    {" sum ", "tn?*", "dim_IntList"},
    {" mean ", "tl*", "dim"},
    {" mean ", "tn?*", "dim"},
    {" prod ", "ts*", "dim_int"},
    {" max min ", "tt", "other"},
    {" max min ", "ts?", "dim"},
    {" any all ", "ts*", "dim"},
    {" any all ", "tl*", "dims"},
    {" std var ", "tl?*", "correction"},
    {" fill masked_fill ", "ts", "Scalar"},
    {" fill ", "tt", "Tensor"},
    {" masked_fill ", "tts", "Scalar"},
    {" masked_fill ", "ttt", "Tensor"},
    {" clamp ", "tt*", "Tensor"},
    {" clamp_min clamp_max ", "tt", "Tensor"},
    {" where ", "ttt", "self"},
    {" where ", "tts", "ScalarOther"},
    {" where ", "tst", "ScalarSelf"},
    {" index ", "tl", "Tensor"},
    {" mm bmm ", "tts", "dtype"},
    {" addmm baddbmm ", "tttsss", "dtype"},
    {" norm ", "tslb", "ScalarOpt_dim"},
    {" norm ", "tsl*", "ScalarOpt_dim"},
    {" gather ", "tst?t", "out"},
    {" scatter ", "tstt", "src"},
    {" scatter ", "tsts", "value"},
    {" bernoulli ", "ts*", "float"},
    {" sort ", "t?s*", "stable"},
    {" bitwise_not logical_not ", "t", ""},
    {" _foreach_add _foreach_sub _foreach_mul _foreach_div ", "ll*", "List"},
    {" _foreach_add _foreach_sub _foreach_mul _foreach_div ", "ls", "Scalar"},
    {" _foreach_mul _foreach_div ", "lt", "Tensor"},
    {" _foreach_addcmul _foreach_addcdiv ", "llls", "Scalar"},
    {" _foreach_addcmul _foreach_addcdiv ", "llll", "ScalarList"},
    {" _foreach_lerp ", "lls", "Scalar"},
    {" _foreach_norm ", "ls*", "Scalar"},
};

char letter(const RecordedArgument& argument) {
  switch (argument.value.kind) {
    case ValueKind::tensor: return 't';
    case ValueKind::list: return 'l';
    case ValueKind::none: return 'n';
    case ValueKind::boolean:
    case ValueKind::integer:
    case ValueKind::real:
    case ValueKind::text: break;
  }
  return 's';
}

bool matches(std::string_view kinds, const std::vector<RecordedArgument>& arguments) {
  for (const RecordedArgument& argument : arguments) {
    if (kinds.empty()) return false;
    if (kinds.front() == '*') return true;
    if (kinds.front() != '?' && kinds.front() != letter(argument)) return false;
    kinds.remove_prefix(1);
  }
  return kinds.empty() || kinds.front() == '*';
}

}  // namespace

std::string known_overload(const RecordedOperator& recorded) {
  constexpr std::string_view kNamespace = "aten::";
  if (!recorded.name.starts_with(kNamespace)) return "";
  std::string word = recorded.name.substr(kNamespace.size());
  if (word.ends_with('_') && !word.ends_with("__")) word.pop_back();
  word = " " + word + " ";
  const auto takes = [&](const Overload& overload) {
    return overload.names.find(word) != std::string_view::npos && matches(overload.kinds, recorded.arguments);
  };
  const auto* const found = std::find_if(std::begin(kOverloads), std::end(kOverloads), takes);
  return found == std::end(kOverloads) ? "" : std::string(found->overload);
}

}  // namespace jitterscope
