#include "output/study_rows.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/quantity_text.hpp"
#include "output/comparison_cells.hpp"
#include "output/display_text.hpp"
#include "output/estimate_text.hpp"
#include "output/ratio_text.hpp"
#include "output/table.hpp"

namespace jitterscope {
namespace {

// The same item under the same conditions, by another alternative; null where it has no time.
const Comparison* beside(const ComparisonRecord& record, const Comparison& item, std::size_t alternative) {
  const auto found = std::ranges::find_if(record.comparisons, [&](const Comparison& other) {
    return other.alternative == alternative && other.failure.empty() &&
           other.first.subject == item.first.subject && other.layers == item.layers &&
           condition_of(record, other) == condition_of(record, item);
  });
  return found == record.comparisons.end() ? nullptr : &*found;
}

Nanoseconds time_of_all(const Comparison& comparison) {
  return comparison.first.time.median * static_cast<double>(comparison.count);
}

// Of few processes the ratios have an interval, and the sums none.
std::string total_text(const TimeEstimate& sum) {
  return has_interval(sum) ? estimate_text(sum) : time_text(sum.median);
}

}  // namespace

std::string totals_table(const ComparisonRecord& record, const std::vector<std::string>& names,
                         std::size_t width) {
  TableColumn alternatives{"all together", Align::left, {}}, conditions{"conditions", Align::left, {}},
      times{"time", Align::right, {}}, changes{against(names[0]), Align::right, {}},
      errors{"largest error", Align::right, {}}, verdicts{"verdict", Align::left, {}};
  const auto add = [&](const TotalComparison& total, std::size_t alternative) {
    const bool is_first = alternative == 0;
    alternatives.cells.push_back(names[alternative]);
    conditions.cells.push_back(fmt::format("{} {}", to_string(total.cache), to_string(total.load)));
    times.cells.push_back(total_text(is_first ? total.first : total.second));
    changes.cells.push_back(is_first ? "" : change_of(total.time));
    errors.cells.push_back(largest_error_text(record, alternative));
    verdicts.cells.emplace_back(is_first ? "" : to_string(total.verdict));
  };
  for (const TotalComparison& total : record.totals) {
    if (total.alternative == 1) add(total, 0);
    add(total, total.alternative);
  }
  std::vector<TableColumn> columns = {alternatives};
  if (has_several_conditions(record)) columns.push_back(conditions);
  columns.insert(columns.end(), {times, changes});
  if (has_errors(record)) columns.push_back(errors);
  columns.push_back(verdicts);
  return fitted_table(std::move(columns), width);
}

std::string times_table(const ComparisonRecord& record, const std::vector<std::string>& names,
                        const Page& page) {
  std::vector<const Comparison*> items;
  for (const Comparison& comparison : record.comparisons) {
    if (comparison.failure.empty() && comparison.alternative == 1) items.push_back(&comparison);
  }
  const bool are_layers = !record.totals.empty();
  if (are_layers)
    std::ranges::stable_sort(items, std::greater(),
                             [](const Comparison* item) { return time_of_all(*item); });
  const std::vector<std::string> labels = row_labels(items);
  const std::size_t all = items.size();
  items.resize(std::min(all, page.top.value_or(all)));
  TableColumn layers{are_layers ? "layer" : "operation", Align::left, {}}, counts{"×", Align::right, {}, 1},
      conditions{"conditions", Align::left, {}};
  std::vector<TableColumn> times;
  for (const std::string& name : names) times.push_back({name, Align::right, {}});
  for (std::size_t i = 0; i < items.size(); ++i) {
    layers.cells.push_back(one_line(labels[i]));
    counts.cells.push_back(std::to_string(items[i]->count));
    conditions.cells.push_back(cache_and_load(items[i]->first.conditions));
    times[0].cells.push_back(same_work_text(record, items[i]->first, 0));
    for (std::size_t alternative = 1; alternative < names.size(); ++alternative) {
      const Comparison* other = beside(record, *items[i], alternative);
      times[alternative].cells.push_back(other ? same_work_text(record, other->second, alternative)
                                               : std::string(kAbsent));
    }
  }
  std::vector<TableColumn> columns = {layers};
  if (are_layers) columns.push_back(counts);
  if (has_several_conditions(record)) columns.push_back(conditions);
  columns.insert(columns.end(), times.begin(), times.end());
  std::string text = fitted_table(std::move(columns), page.width);
  if (items.size() < all) {
    text += wrapped(fmt::format("{} of {} rows{}; all: --top all.", items.size(), all,
                                are_layers ? ", the longest first" : ""),
                    page.width);
  }
  return text;
}

}  // namespace jitterscope
