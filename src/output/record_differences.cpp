#include "output/record_differences.hpp"

#include <algorithm>
#include <span>

#include <fmt/format.h>

#include "base/names.hpp"
#include "base/quantity_text.hpp"
#include "operation/unlike_parameters.hpp"
#include "output/cells.hpp"

namespace jitterscope {
namespace {

// Returns "conv1" or "conv1 and 11 more"; empty if the difference concerns the machine.
std::string place_of(const RecordDifference& difference) {
  if (difference.of.empty()) return {};
  const std::string first = one_line(difference.of.front());
  return difference.of.size() == 1 ? first : fmt::format("{} and {} more", first, difference.of.size() - 1);
}

// A difference from the first record, which several of the others may have.
struct SharedDifference {
  const RecordDifference* difference;
  std::vector<std::string> names;  // of the records that have it
};

std::vector<SharedDifference> shared_differences(const ComparisonRecord& record, const std::string& cause,
                                                 const std::vector<std::string>& names) {
  std::vector<SharedDifference> shared;
  for (const RecordDifference& each : record.differences) {
    if (each.name != cause) continue;
    auto known = std::ranges::find_if(shared, [&](const SharedDifference& other) {
      return other.difference->first == each.first && other.difference->second == each.second &&
             other.difference->of == each.of;
    });
    if (known == shared.end()) known = shared.insert(shared.end(), {&each, {}});
    known->names.push_back(names[each.alternative]);
  }
  return shared;
}

// Returns the differences without those of layers that stand in an earlier one: a layer may differ in each of
// its conditions by another number, and is named once.
std::vector<SharedDifference> of_each_layer_once(const std::vector<SharedDifference>& cause) {
  std::vector<SharedDifference> once;
  std::vector<std::string> named;
  for (const SharedDifference& each : cause) {
    const std::vector<std::string>& layers = each.difference->of;
    std::vector<std::string> own;  // the layers, each of these records
    for (const std::string& layer : layers) own.push_back(joined(each.names) + ' ' + layer);
    const auto is_named = [&](const std::string& layer) {
      return std::ranges::find(named, layer) != named.end();
    };
    if (!own.empty() && std::ranges::all_of(own, is_named)) continue;
    once.push_back(each);
    named.insert(named.end(), own.begin(), own.end());
  }
  return once;
}

// Lists only the first 3 differences of a cause that differs in each layer by another number.
Text lines_of_cause(const std::vector<SharedDifference>& all, std::size_t compared, std::size_t alternatives,
                    std::size_t width) {
  constexpr std::size_t kShown = 3;
  const std::vector<SharedDifference> cause = of_each_layer_once(all);
  const auto shown = [](const std::string& value) {
    return value.empty() ? std::string("not there") : one_line(value);
  };
  Text text;
  for (std::size_t i = 0; i < std::min(cause.size(), kShown); ++i) {
    const RecordDifference& each = *cause[i].difference;
    const std::string place = compared > 1 ? place_of(each) : std::string();
    // Parameters that both operations share would make the line too long.
    const auto [first, second] = each.name == kOperationDifference
                                     ? differing_parameters(each.first, each.second)
                                     : std::pair(each.first, each.second);
    text += list_item(fmt::format("{}{}: {}, then {}{}", one_line(each.name),
                                  place.empty() ? "" : fmt::format(" ({})", place), shown(first),
                                  shown(second), alternatives > 2 ? " in " + joined(cause[i].names) : ""),
                      width);
  }
  if (cause.size() <= kShown) return text;
  std::size_t others = 0;
  for (std::size_t i = kShown; i < cause.size(); ++i)
    others += std::max<std::size_t>(1, cause[i].difference->of.size());
  const std::string more =
      counted(static_cast<std::int64_t>(others), compared > 1 ? "more operation" : "more value");
  return text +
         list_item(fmt::format("{}: different in {}", one_line(cause.front().difference->name), more), width);
}

// Different work explains a time better than any circumstance.
std::string explanation_of(const std::vector<std::string>& causes, std::size_t other_work,
                           std::size_t compared, std::span<const std::int64_t> samples) {
  const std::string may = joined(causes, causes.size() > 2 ? ", " : " or ");
  if (!samples.empty()) {
    std::string text = fmt::format("A launch takes {} samples: differences are those of one sample.",
                                   fmt::join(samples, ", then "));
    if (!causes.empty()) text += fmt::format(" They may also come from {}.", may);
    return text;
  }
  if (other_work == 0) {
    if (causes.empty()) return {};
    return fmt::format("A difference in time may come from {} instead of the work itself.", may);
  }
  std::string text =
      compared <= 1 ? std::string("The operations differ")
                    : fmt::format("The operations of {} of {} common layers differ", other_work, compared);
  text += ", so a difference in time comes first of all from the work.";
  if (!causes.empty()) text += fmt::format(" It may also come from {}.", may);
  return text;
}

}  // namespace

Text record_differences_section(const ComparisonRecord& record, const std::vector<std::string>& names,
                                std::size_t width) {
  if (record.differences.empty()) return {};
  std::vector<std::string> kinds, causes;
  for (const RecordDifference& each : record.differences) add_once(kinds, each.name);
  std::vector<std::string> compared;  // layers or operations
  for (const Comparison& each : record.comparisons) {
    std::string name = each.layers.empty() ? to_string(each.first.subject) : each.layers.front();
    if (std::ranges::find(compared, name) == compared.end()) compared.push_back(std::move(name));
  }
  Text text = "What differs between the records:\n\n";
  std::size_t other_work = 0;
  std::vector<std::string> other;  // layers or operations
  for (const std::string& name : kinds) {
    const std::vector<SharedDifference> cause = shared_differences(record, name, names);
    text += lines_of_cause(cause, compared.size(), names.size(), width);
    const bool may_explain =
        std::ranges::any_of(cause, [](const SharedDifference& each) { return each.difference->may_explain; });
    if (name == kOperationDifference) {
      // Older records do not list the layers.
      for (const SharedDifference& each : cause) {
        for (const std::string& layer : each.difference->of) add_once(other, layer);
      }
      other_work = std::max<std::size_t>(1, other.size());
    } else if (may_explain) {
      causes.push_back(one_line(name));
    }
  }
  const std::string explanation = explanation_of(causes, other_work, compared.size(), record.samples);
  return explanation.empty() ? text : text + '\n' + wrapped(explanation, width);
}

}  // namespace jitterscope
