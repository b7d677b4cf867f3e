// Lists and ranges of parameters, expanded to the product of all.
#include <fmt/format.h>

#include "base/names.hpp"
#include "jitterscope/error.hpp"
#include "operation/aten_text.hpp"
#include "operation/parse.hpp"

namespace jitterscope {
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

// `1..64*2` or `1..9+2`; nothing where it is not one.
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
    // Compared so that neither the product nor the sum can overflow.
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

std::vector<Operation> parse_sweep(std::string_view text) {
  if (is_aten_text(text)) return {Operation(parse_aten(text))};  // its commas part arguments, not values
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
    // From the back: the parameter written last changes fastest.
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

}  // namespace jitterscope
