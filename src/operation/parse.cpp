#include "operation/parse.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/names.hpp"
#include "jitterscope/error.hpp"
#include "operation/aten_text.hpp"
#include "operation/chain.hpp"
#include "operation/cuda_kernel.hpp"
#include "operation/text_pieces.hpp"

namespace jitterscope {
namespace {

const kinds::Kind& find_kind(std::string_view word) {
  std::vector<std::string> known;
  for (const kinds::Kind& kind : kinds::all()) {
    if (kind.help.kind == word) return kind;
    known.push_back(kind.help.kind);
  }
  if (word.empty()) throw UsageError("an operation begins with its kind: " + joined(known));
  throw UsageError("no operation " + in_quotes(word) + kind_hint(word));
}

// ", which takes n, c, hw, …, as in conv2d:n=32,…"
std::string parameters_of(const OperationHelp& help) {
  std::vector<std::string> names;
  for (const ParameterHelp& parameter : help.parameters) names.push_back(parameter.name);
  if (names.empty()) return ", as in " + help.example;
  return fmt::format(", which takes {}, as in {}", joined(names), help.example);
}

// A plan's tag has `=` in it: of engine=autotune,ConvFwd_eng38_k2=1 the second piece is a value too.
bool continues_engines(const OperationText& operation, std::string_view name) {
  if (operation.parameters.empty() || operation.parameters.back().name != "engine") return false;
  const auto& known = operation.kind->help.parameters;
  return std::none_of(known.begin(), known.end(),
                      [&](const ParameterHelp& parameter) { return parameter.name == name; });
}

void add_piece(OperationText& operation, std::string_view piece) {
  if (trimmed(piece).empty()) {
    throw UsageError(fmt::format("{}: nothing stands on one side of a comma; leave the comma out",
                                 operation.kind->help.kind));
  }
  const std::size_t equals = piece.find('=');
  if (equals != std::string_view::npos && !continues_engines(operation, trimmed(piece.substr(0, equals)))) {
    const std::string_view name = trimmed(piece.substr(0, equals)), value = trimmed(piece.substr(equals + 1));
    operation.parameters.push_back({std::string(name), {std::string(value)}});
  } else if (operation.parameters.empty()) {
    throw UsageError(fmt::format("{}: {} is not name=value; an example: {}", operation.kind->help.kind,
                                 in_quotes(piece), operation.kind->help.example));
  } else {
    operation.parameters.back().values.emplace_back(trimmed(piece));
  }
}

}  // namespace

std::string kind_hint(std::string_view word) {
  std::vector<std::string> known;
  for (const OperationHelp& help : operation_help()) known.push_back(help.kind);
  const std::string nearest = nearest_name(word, known);
  for (const OperationHelp& help : operation_help()) {
    if (help.kind == nearest) return fmt::format(" (did you mean '{}'?){}", nearest, parameters_of(help));
  }
  return " (known: " + joined(known) + ")";
}

OperationText split_operation(std::string_view text) {
  const std::size_t colon = text.find(':');
  OperationText operation;
  operation.kind = &find_kind(trimmed(text.substr(0, colon)));
  if (colon == std::string_view::npos) return operation;
  std::string_view rest = text.substr(colon + 1);
  if (trimmed(rest).empty()) return operation;
  const std::string& kind = operation.kind->help.kind;
  if (kind == kCudaKind || kind == kChainKind) {
    rest = trimmed(rest);
    const std::size_t end = subject_end(kind, rest);
    operation.subject = trimmed(rest.substr(0, end));
    if (kind == kCudaKind) require_kernel_name(operation.subject);
    rest = trimmed(rest.substr(end));
    if (rest.empty()) return operation;
    if (!rest.starts_with(',')) read_chain_steps(rest);  // which says what is no step
    rest.remove_prefix(1);
  }
  while (true) {
    const std::size_t comma = parameter_end(kind, rest);
    add_piece(operation, rest.substr(0, comma));
    if (comma == rest.size()) return operation;
    rest.remove_prefix(comma + 1);
  }
}

// A path may have two dots, and has slashes.
bool is_range(std::string_view value) {
  return value.find("..") != std::string_view::npos && value.find('/') == std::string_view::npos;
}

Operation make_operation(const OperationText& text, std::vector<NamedValue> values) {
  const kinds::Kind& kind = *text.kind;
  if (kind.help.kind == kCudaKind && !text.subject.empty()) {
    return Operation(read_cuda_kernel(text.subject, values));
  }
  std::vector<std::string> known;
  for (const ParameterHelp& parameter : kind.help.parameters) known.push_back(parameter.name);
  Operation::Parameters parameters =
      kind.read(ParameterReader(kind.help.kind, kind.help.example, std::move(values), known));
  if (Chain* chain = std::get_if<Chain>(&parameters)) chain->steps = read_chain_steps(text.subject);
  return Operation(std::move(parameters));
}

Operation Operation::parse(std::string_view text) {
  if (is_aten_text(text)) return Operation(parse_aten(text));
  const OperationText operation = split_operation(text);
  std::vector<NamedValue> values;
  for (const ParameterValues& parameter : operation.parameters) {
    const bool list = parameter.values.size() > 1;
    if (list || is_range(parameter.values.front())) {
      const std::string written = parameter.name + "=" + joined(parameter.values, ",");
      throw UsageError(fmt::format("{}: {} is a {}, but one operation is wanted here; sweeps are for `run`",
                                   operation.kind->help.kind, in_quotes(written), list ? "list" : "range"));
    }
    values.push_back({parameter.name, parameter.values.front()});
  }
  return make_operation(operation, std::move(values));
}

}  // namespace jitterscope
