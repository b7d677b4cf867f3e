#include "output/comparison_rows.hpp"

#include "output/comparison_cells.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/quantity_text.hpp"
#include "output/display_text.hpp"
#include "output/estimate_text.hpp"
#include "output/operation_label.hpp"
#include "output/ratio_text.hpp"
#include "output/table.hpp"

namespace jitterscope {
namespace {

struct AlternativeRow {
  std::string name, conditions;
  const ComparedSide* side;
  const Comparison* comparison;  // null for the first alternative
};

std::vector<AlternativeRow> alternative_rows(const ComparisonRecord& record,
                                             const std::vector<std::string>& names) {
  std::vector<AlternativeRow> rows;
  for (const Comparison& comparison : record.comparisons) {
    if (!comparison.failure.empty()) continue;
    const std::string conditions = condition_of(record, comparison);
    if (comparison.alternative == 1) rows.push_back({names[0], conditions, &comparison.first, nullptr});
  }
  for (const Comparison& comparison : record.comparisons) {
    if (!comparison.failure.empty()) continue;
    rows.push_back(
        {names[comparison.alternative], condition_of(record, comparison), &comparison.second, &comparison});
  }
  const auto place = [&](const AlternativeRow& row) {
    std::size_t first = 0;
    while (rows[first].conditions != row.conditions) ++first;
    return first;
  };
  std::vector<AlternativeRow> sorted = rows;
  std::ranges::stable_sort(sorted, {}, place);
  return sorted;
}

Nanoseconds weight_of(const Comparison& comparison) {
  const Nanoseconds change = comparison.second.time.median - comparison.first.time.median;
  return Nanoseconds(std::abs(change.value()) * static_cast<double>(comparison.count));
}

}  // namespace

std::string alternatives_table(const ComparisonRecord& record, const std::vector<std::string>& names,
                               const Page& page) {
  TableColumn alternatives{"", Align::left, {}}, conditions{"conditions", Align::left, {}},
      times{"time", Align::right, {}}, changes{against(names[0]), Align::right, {}},
      same_work{"same work", Align::right, {}}, rates{"rate", Align::right, {}},
      memories{"operands", Align::right, {}, 1}, moved{"DRAM", Align::right, {}, 1},
      errors{"error", Align::right, {}}, cycles{"in cycles", Align::right, {}, 2},
      clocks{"clock", Align::right, {}, 3}, verdicts{"verdict", Align::left, {}};
  for (const AlternativeRow& row : alternative_rows(record, names)) {
    alternatives.cells.push_back(row.name);
    conditions.cells.push_back(row.conditions);
    times.cells.push_back(estimate_text(row.side->time));
    same_work.cells.push_back(
        same_work_text(record, *row.side, row.comparison ? row.comparison->alternative : 0));
    rates.cells.push_back(amount_text(*row.side));
    memories.cells.push_back(operands_text(*row.side));
    moved.cells.push_back(moved_text(*row.side));
    errors.cells.push_back(error_text(*row.side));
    clocks.cells.push_back(row.side->clock ? clock_text(*row.side->clock) : std::string(kAbsent));
    changes.cells.push_back(row.comparison ? change_text(*row.comparison) : "");
    const bool has_cycles = row.comparison && row.comparison->cycles && !is_wrong(*row.comparison);
    cycles.cells.push_back(has_cycles ? change_of(*row.comparison->cycles) : "");
    verdicts.cells.push_back(row.comparison ? verdict_text(*row.comparison) : "");
  }
  if (alternatives.cells.empty()) return {};
  std::vector<TableColumn> columns = {alternatives};
  if (has_several_conditions(record)) columns.push_back(conditions);
  columns.push_back(times);
  if (!record.works.empty()) columns.insert(columns.end(), {same_work, memories});
  if (has_amounts(record)) columns.push_back(rates);
  const auto is_known = [](const std::string& cell) { return cell != kAbsent; };
  if (std::ranges::any_of(moved.cells, is_known)) columns.push_back(moved);
  // Details have them in a table of their own, which no width makes them leave.
  if (!page.details) columns.push_back(clocks);
  const bool are_comparable = !has_unlike_amounts(record);
  if (are_comparable) columns.push_back(changes);
  const auto is_filled = [](const std::string& cell) { return !cell.empty(); };
  if (are_comparable && !page.details && std::ranges::any_of(cycles.cells, is_filled))
    columns.push_back(cycles);
  if (has_errors(record)) columns.push_back(errors);
  if (are_comparable) columns.push_back(verdicts);
  return fitted_table(std::move(columns), page.width);
}

std::vector<const Comparison*> rows_of_layers(const ComparisonRecord& record) {
  std::vector<const Comparison*> rows;
  for (const Comparison& comparison : record.comparisons) {
    if (comparison.failure.empty()) rows.push_back(&comparison);
  }
  // What was typed stays in its order: a sweep is read from its smallest to its largest.
  if (!record.totals.empty()) {
    std::ranges::stable_sort(rows, std::greater(), [](const Comparison* row) { return weight_of(*row); });
  }
  return rows;
}

std::string layers_table(const ComparisonRecord& record, const std::vector<std::string>& names,
                         const Page& page) {
  std::vector<const Comparison*> rows = rows_of_layers(record);
  const bool are_layers = !record.totals.empty();
  const std::vector<std::string> labels = row_labels(rows);
  const std::size_t all = rows.size();
  rows.resize(std::min(all, page.top.value_or(all)));
  TableColumn rates{"rate", Align::right, {}};
  TableColumn layers{are_layers ? "layer" : "operation", Align::left, {}}, counts{"×", Align::right, {}},
      conditions{"conditions", Align::left, {}}, alternatives{"", Align::left, {}},
      firsts{names[0], Align::right, {}, 2}, seconds{names.size() == 2 ? names[1] : "time", Align::right, {}},
      same_work{"same work", Align::right, {}}, errors{"error", Align::right, {}, 3},
      changes{"against " + names[0], Align::right, {}}, verdicts{"verdict", Align::left, {}};
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Comparison* row = rows[i];
    layers.cells.push_back(one_line(labels[i]));
    counts.cells.push_back(std::to_string(row->count));
    conditions.cells.push_back(cache_and_load(row->first.conditions));
    alternatives.cells.push_back(names[row->alternative]);
    firsts.cells.push_back(time_text(row->first.time.median, row->first.time.precision()));
    seconds.cells.push_back(time_text(row->second.time.median, row->second.time.precision()));
    same_work.cells.push_back(same_work_text(record, row->second, row->alternative));
    rates.cells.push_back(amount_text(row->second));
    errors.cells.push_back(error_text(row->second));
    changes.cells.push_back(change_text(*row));
    verdicts.cells.push_back(verdict_text(*row));
  }
  std::vector<TableColumn> columns = {layers};
  if (are_layers) columns.push_back(counts);
  if (has_several_conditions(record)) columns.push_back(conditions);
  if (names.size() > 2) columns.push_back(alternatives);
  columns.insert(columns.end(), {firsts, seconds});
  if (!record.works.empty()) columns.push_back(same_work);
  if (has_amounts(record)) columns.push_back(rates);
  const bool are_comparable = !has_unlike_amounts(record);
  if (are_comparable) columns.push_back(changes);
  if (has_errors(record)) columns.push_back(errors);
  if (are_comparable) columns.push_back(verdicts);
  std::string text = fitted_table(std::move(columns), page.width);
  const auto is_called_again = [](const Comparison* row) { return row->count > 1; };
  if (are_layers && std::ranges::any_of(rows, is_called_again))
    text += wrapped("Times in rows are those of one call; × says how many there are.", page.width);
  if (rows.size() < all) {
    text += wrapped(fmt::format("{} of {} rows{}; all: --top all.", rows.size(), all,
                                are_layers ? ", what changes the total most first" : ""),
                    page.width);
  }
  return text;
}

}  // namespace jitterscope
