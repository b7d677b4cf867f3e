#include "operation/parse.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/names.hpp"
#include "jitterscope/error.hpp"
#include "operation/aten_text.hpp"
#include "operation/chain.hpp"
#include "operation/cuda_kernel.hpp"

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

// Plan tags contain `=`: the second piece of engine=autotune,ConvFwd_eng38_k2=1 is a value, too.
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
    throw UsageError(fmt::format("{}: {} is not name=value; for example {}", operation.kind->help.kind,
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
    if (!rest.starts_with(',')) read_chain_steps(rest);  // throws, as it is no step
    rest.remove_prefix(1);
  }
  while (true) {
    const std::size_t comma = parameter_end(kind, rest);
    add_piece(operation, rest.substr(0, comma));
    if (comma == rest.size()) return operation;
    rest.remove_prefix(comma + 1);
  }
}

// A path may contain two dots, but then it has slashes.
bool is_range(std::string_view value) {
  return value.find("..") != std::string_view::npos && value.find('/') == std::string_view::npos;
}

Operation make_operation(const OperationText& text, std::vector<NamedValue> values) {
  const OperationHelp& help = text.kind->help;
  if (help.kind == kCudaKind) return Operation(read_cuda_kernel(text.subject, values));
  std::vector<std::string> known;
  for (const ParameterHelp& parameter : help.parameters) known.push_back(parameter.name);
  const ParameterReader reader(help.kind, help.example, std::move(values), known);
  Operation::Parameters parameters = text.kind->initial;
  std::visit(
      [&](auto& shape) {
        kinds::Fields fields(reader);
        kinds::kind_of(shape).describe(shape, fields);
      },
      parameters);
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

// Sweeps: lists and ranges of parameters, expanded to their product.

namespace {

constexpr std::size_t kMostOperations = 10'000;

[[noreturn]] void fail_too_many(const std::string& kind) {
  throw UsageError(fmt::format("{}: the sweep has more than {} operations; shorten a list or a range", kind,
                               kMostOperations));
}

struct Range {
  std::int64_t first = 0, last = 0, step = 0;
  bool multiply = false;
};

// Reads `1..64*2` or `1..9+2`; returns nullopt for anything else.
std::optional<Range> read_range(std::string_view text, Counted counted) {
  const std::size_t dots = text.find("..");
  const std::size_t sign = text.find_first_of("*+", dots);
  if (sign == std::string_view::npos) return std::nullopt;
  const std::optional<std::int64_t> first = read_count(text.substr(0, dots), counted);
  const std::optional<std::int64_t> last = read_count(text.substr(dots + 2, sign - dots - 2), counted);
  const std::optional<std::int64_t> step = read_count(text.substr(sign + 1), counted);
  if (!first || !last || !step) return std::nullopt;
  return Range{*first, *last, *step, text[sign] == '*'};
}

Range checked_range(const std::string& kind, const std::string& name, std::string_view text) {
  const std::optional<Range> range = read_range(text, counted_by(name));
  const std::string what = kind + ": " + name + ": the range " + in_quotes(text);
  if (!range) throw UsageError(what + " is not FIRST..LAST*FACTOR or FIRST..LAST+STEP, as 1..64*2");
  if (range->first > range->last)
    throw UsageError(what + " ends before it begins; write the smaller number first");
  const bool moves = range->multiply ? range->step >= 2 && range->first >= 1 : range->step >= 1;
  if (!moves)
    throw UsageError(what + " never ends; a factor is at least 2 and begins at 1 or more, a step at least 1");
  return *range;
}

void expand_range(const std::string& kind, const Range& range, std::vector<std::string>& values) {
  std::int64_t value = range.first;
  while (true) {
    values.push_back(std::to_string(value));
    if (values.size() > kMostOperations) fail_too_many(kind);
    // Compared in this way so that neither the product nor the sum can overflow.
    const bool ends = range.multiply ? value > range.last / range.step : value > range.last - range.step;
    if (ends) return;
    value = range.multiply ? value * range.step : value + range.step;
  }
}

std::vector<std::string> expanded(const std::string& kind, const ParameterValues& parameter) {
  std::vector<std::string> values;
  for (const std::string& value : parameter.values) {
    if (is_range(value)) {
      expand_range(kind, checked_range(kind, parameter.name, value), values);
    } else {
      values.push_back(value);
    }
  }
  return values;
}

std::string text_of(const OperationText& operation, const std::vector<NamedValue>& values) {
  std::vector<std::string> pieces;
  if (!operation.subject.empty()) pieces.push_back(operation.subject);
  for (const NamedValue& entry : values) pieces.push_back(entry.name + "=" + entry.value);
  return operation.kind->help.kind + ":" + joined(pieces, ",");
}

}  // namespace

std::vector<std::int64_t> read_byte_counts(const std::string& what, std::string_view text) {
  std::vector<std::int64_t> counts;
  for (const std::string& value : expanded(what, {"bytes", split_at_commas(text)})) {
    const std::optional<std::int64_t> count = read_count(value, Counted::bytes);
    if (!count)
      throw UsageError(
          fmt::format("{}: {} {}", what, in_quotes(value), count_problem(value, Counted::bytes)));
    counts.push_back(*count);
  }
  return counts;
}

std::vector<Operation> parse_sweep(std::string_view text) {
  if (is_aten_text(text)) return {Operation(parse_aten(text))};  // its commas separate arguments, not values
  const OperationText operation = split_operation(text);
  const std::string& kind = operation.kind->help.kind;
  std::vector<std::vector<std::string>> lists;
  std::size_t total = 1;
  for (const ParameterValues& parameter : operation.parameters) {
    lists.push_back(expanded(kind, parameter));
    total *= lists.back().size();
    if (total > kMostOperations) fail_too_many(kind);
  }
  std::vector<Operation> result;
  result.reserve(total);
  for (std::size_t index = 0; index < total; ++index) {
    std::vector<NamedValue> values(lists.size());
    std::size_t rest = index;
    // Backwards, so that the parameter written last changes fastest.
    for (std::size_t i = lists.size(); i-- > 0; rest /= lists[i].size()) {
      values[i] = {operation.parameters[i].name, lists[i][rest % lists[i].size()]};
    }
    try {
      result.push_back(make_operation(operation, values));
    } catch (const UsageError& error) {
      if (total == 1) throw;
      throw UsageError(
          fmt::format("{} (in {} of the sweep)", error.what(), in_quotes(text_of(operation, values))));
    }
  }
  return result;
}

std::size_t subject_end(std::string_view kind, std::string_view text) {
  if (kind == kCudaKind) return kernel_piece_end(text);
  return kind == kChainKind ? chain_steps_end(text) : 0;
}

std::size_t parameter_end(std::string_view kind, std::string_view text) {
  return kind == kCudaKind ? kernel_piece_end(text) : std::min(text.find(','), text.size());
}

}  // namespace jitterscope
