#include "import/recorded_operator.hpp"

#include <algorithm>

namespace jitterscope {

using Kind = AtenArgument::Kind;

const RecordedArgument* Arguments::find(std::string_view name) const {
  const std::vector<std::string>& names = recorded_.argument_names;
  const auto found = std::find(names.begin(), names.end(), name);
  const auto index = static_cast<std::size_t>(found - names.begin());
  return index < std::min(names.size(), recorded_.arguments.size()) ? &recorded_.arguments[index] : nullptr;
}

const AtenArgument& Arguments::value(std::string_view name, Kind kind) const {
  const RecordedArgument* argument = find(name);
  require_native(argument != nullptr && argument->problem.empty() && argument->value.kind == kind);
  return argument->value;
}

bool Arguments::has_tensor(std::string_view name) const {
  const RecordedArgument* argument = find(name);
  return argument != nullptr && argument->value.kind == Kind::tensor;
}

const AtenArgument& Arguments::tensor(std::string_view name) const { return value(name, Kind::tensor); }
std::int64_t Arguments::integer(std::string_view name) const { return value(name, Kind::integer).integer; }
bool Arguments::boolean(std::string_view name) const { return value(name, Kind::boolean).boolean; }

double Arguments::number(std::string_view name) const {
  const RecordedArgument* argument = find(name);
  require_native(argument != nullptr && argument->problem.empty());
  if (argument->value.kind == Kind::real) return argument->value.real;
  return static_cast<double>(integer(name));
}

double Arguments::number_or(std::string_view name, double absent) const {
  const RecordedArgument* argument = find(name);
  return argument == nullptr || argument->value.kind == Kind::none ? absent : number(name);
}

bool Arguments::boolean_or(std::string_view name, bool absent) const {
  const RecordedArgument* argument = find(name);
  return argument == nullptr || argument->value.kind == Kind::none ? absent : boolean(name);
}

std::vector<std::int64_t> Arguments::integers(std::string_view name) const {
  std::vector<std::int64_t> result;
  for (const AtenArgument& element : value(name, Kind::list).elements) {
    require_native(element.kind == Kind::integer);
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
  for (const AtenArgument& element : value(name, Kind::list).elements) {
    require_native(element.kind == Kind::boolean);
    result.push_back(element.boolean);
  }
  return result;
}

std::optional<TensorIdentity> Arguments::identity(std::string_view name) const {
  const RecordedArgument* argument = find(name);
  return argument == nullptr ? std::nullopt : argument->identity;
}

std::optional<TensorIdentity> Arguments::output_identity(std::size_t index) const {
  return index < recorded_.outputs.size() ? recorded_.outputs[index].identity : std::nullopt;
}

}  // namespace jitterscope
