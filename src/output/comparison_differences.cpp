#include "output/comparison_differences.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/names.hpp"
#include "output/display_text.hpp"

namespace jitterscope {
namespace {

// "conv1"; "conv1 and 11 more"; empty for what is of the machine.
std::string place_of(const RecordDifference& difference) {
  if (difference.of.empty()) return {};
  const std::string first = one_line(difference.of.front());
  return difference.of.size() == 1 ? first : fmt::format("{} and {} more", first, difference.of.size() - 1);
}

// Of a cause that differs in each layer by another number the first few say what it is like.
std::string lines_of_cause(const std::vector<const RecordDifference*>& cause, std::size_t compared,
                           std::size_t width) {
  constexpr std::size_t kShown = 3;
  const auto shown = [](const std::string& value) {
    return value.empty() ? std::string("not there") : one_line(value);
  };
  std::string text;
  for (std::size_t i = 0; i < std::min(cause.size(), kShown); ++i) {
    const RecordDifference& each = *cause[i];
    const std::string place = compared > 1 ? place_of(each) : std::string();
    text += wrapped(
        fmt::format("- {}{}: {}, then {}", one_line(each.name),
                    place.empty() ? "" : fmt::format(" ({})", place), shown(each.first), shown(each.second)),
        width, 2);
  }
  if (cause.size() <= kShown) return text;
  std::size_t others = 0;
  for (std::size_t i = kShown; i < cause.size(); ++i) others += std::max<std::size_t>(1, cause[i]->of.size());
  return text + wrapped(fmt::format("- {}: {} more", one_line(cause.front()->name), others), width, 2);
}

// Other work explains a time better than any circumstance.
std::string explanation_of(const std::vector<std::string>& causes, std::size_t other_work,
                           std::size_t compared) {
  const std::string may = joined(causes, causes.size() > 2 ? ", " : " or ");
  if (other_work == 0) {
    if (causes.empty()) return {};
    return fmt::format("A difference in time may come from {}, and not from the work itself.", may);
  }
  std::string text = compared <= 1
                         ? std::string("The operations differ: this is other work")
                         : fmt::format("In {} of {} that both have the operations differ: this is other work",
                                       other_work, compared);
  text += ", and a difference in time is first of all that of the work.";
  if (!causes.empty()) text += fmt::format(" It may also come from {}.", may);
  return text;
}

}  // namespace

std::string record_differences_section(const ComparisonRecord& record, std::size_t width) {
  if (record.differences.empty()) return {};
  std::vector<std::string> names, causes;
  for (const RecordDifference& each : record.differences) {
    if (std::ranges::find(names, each.name) == names.end()) names.push_back(each.name);
  }
  std::vector<std::string> compared;  // layers, or operations
  for (const Comparison& each : record.comparisons) {
    std::string name = each.layers.empty() ? to_string(each.first.subject) : each.layers.front();
    if (std::ranges::find(compared, name) == compared.end()) compared.push_back(std::move(name));
  }
  std::string text = "What differs between the records:\n\n";
  std::size_t other_work = 0;
  for (const std::string& name : names) {
    std::vector<const RecordDifference*> cause;
    for (const RecordDifference& each : record.differences) {
      if (each.name == name) cause.push_back(&each);
    }
    text += lines_of_cause(cause, compared.size(), width);
    const bool may_explain = std::ranges::any_of(cause, &RecordDifference::may_explain);
    if (name == kOperationDifference) {
      // Records of before say it without the layers.
      for (const RecordDifference* each : cause) other_work += std::max<std::size_t>(1, each->of.size());
    } else if (may_explain) {
      causes.push_back(one_line(name));
    }
  }
  const std::string explanation = explanation_of(causes, other_work, compared.size());
  return explanation.empty() ? text : text + '\n' + wrapped(explanation, width);
}

}  // namespace jitterscope
