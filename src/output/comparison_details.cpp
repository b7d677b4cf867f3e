#include "output/comparison_details.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/quantity_text.hpp"
#include "output/comparison_cells.hpp"
#include "output/comparison_rows.hpp"
#include "output/display_text.hpp"
#include "output/ratio_text.hpp"
#include "output/table.hpp"

namespace jitterscope {
namespace {

std::string clock_or_absent(const std::optional<Hertz>& clock) {
  return clock ? clock_text(*clock) : std::string(kAbsent);
}

// What was typed makes no network.
std::string label_of(const ComparisonRecord& record, const TotalComparison& total) {
  if (record.comparisons.front().layers.empty()) return "all together";
  return is_whole(record, total) ? "all layers" : "layers in common";
}

class DetailsTable {
 public:
  DetailsTable(const ComparisonRecord& record, const std::vector<std::string>& names) : names_(names) {
    firsts_.heading = "first clock";
    seconds_.heading = names.size() == 2 ? "second clock" : "clock";
    is_comparable_ = !has_unlike_amounts(record);
  }

  void add(const TotalComparison& total, const std::string& label) {
    add_keys(label, fmt::format("{} {}", to_string(total.cache), to_string(total.load)), total.alternative);
    add_clocks(total.first_clock, total.second_clock, total.cycles);
    // A sum has no blocks, and no launch.
    moved_before_.cells.emplace_back(kAbsent);
    moved_.cells.emplace_back(kAbsent);
    at_once_before_.cells.emplace_back(kAbsent);
    at_once_.cells.emplace_back(kAbsent);
    withins_.cells.emplace_back(kAbsent);
    betweens_.cells.emplace_back(kAbsent);
  }

  void add(const Comparison& comparison, const std::string& label) {
    add_keys(label, cache_and_load(comparison.first.conditions), comparison.alternative);
    add_clocks(comparison.first.clock, comparison.second.clock,
               is_wrong(comparison) ? std::nullopt : comparison.cycles);
    // Of processes with one block each nothing is known within them.
    const bool has_spread = comparison.processes > 1 && comparison.within > 0.0;
    moved_before_.cells.push_back(moved_text(comparison.first));
    moved_.cells.push_back(moved_text(comparison.second));
    at_once_before_.cells.push_back(at_once_text(comparison.first));
    at_once_.cells.push_back(at_once_text(comparison.second));
    withins_.cells.push_back(has_spread ? percent_text(comparison.within) : std::string(kAbsent));
    betweens_.cells.push_back(has_spread ? percent_text(comparison.between) : std::string(kAbsent));
  }

  std::string text(bool has_conditions, bool are_layers, std::size_t width) const {
    std::vector<TableColumn> keys = {labels_}, columns;
    if (has_conditions) keys.push_back(conditions_);
    if (are_layers && names_.size() > 2) keys.push_back(alternatives_);
    for (const TableColumn* column : {&firsts_, &seconds_, &cycles_, &moved_before_, &moved_,
                                      &at_once_before_, &at_once_, &withins_, &betweens_}) {
      const auto is_known = [](const std::string& cell) { return cell != kAbsent; };
      if (column == &cycles_ && !is_comparable_) continue;
      if (std::ranges::any_of(column->cells, is_known)) columns.push_back(*column);
    }
    return columns.empty() ? std::string() : split_tables(keys, columns, width);
  }

 private:
  void add_keys(const std::string& label, const std::string& conditions, std::size_t alternative) {
    labels_.cells.push_back(one_line(label));
    conditions_.cells.push_back(conditions);
    alternatives_.cells.push_back(names_[alternative]);
  }

  void add_clocks(const std::optional<Hertz>& first, const std::optional<Hertz>& second,
                  const std::optional<RatioEstimate>& cycles) {
    firsts_.cells.push_back(clock_or_absent(first));
    seconds_.cells.push_back(clock_or_absent(second));
    cycles_.cells.push_back(cycles ? change_of(*cycles) : std::string(kAbsent));
  }

  const std::vector<std::string>& names_;
  bool is_comparable_ = true;
  TableColumn labels_{"", Align::left, {}}, conditions_{"conditions", Align::left, {}},
      alternatives_{"", Align::left, {}}, firsts_{"", Align::right, {}}, seconds_{"", Align::right, {}},
      cycles_{"in cycles", Align::right, {}}, moved_before_{"first DRAM", Align::right, {}},
      moved_{"DRAM", Align::right, {}}, at_once_before_{"first at once", Align::right, {}},
      at_once_{"at once", Align::right, {}}, withins_{"within a process", Align::right, {}},
      betweens_{"between processes", Align::right, {}};
};

}  // namespace

std::string comparison_details(const ComparisonRecord& record, const std::vector<std::string>& names,
                               bool are_layers, const Page& page) {
  if (record.comparisons.empty()) return {};
  DetailsTable table(record, names);
  for (const TotalComparison& total : record.totals) table.add(total, label_of(record, total));
  std::vector<const Comparison*> rows = rows_of_layers(record);
  const std::vector<std::string> labels = row_labels(rows);
  rows.resize(std::min(rows.size(), page.top.value_or(rows.size())));
  for (std::size_t i = 0; i < rows.size(); ++i)
    table.add(*rows[i], are_layers ? labels[i] : names[rows[i]->alternative]);
  return table.text(has_several_conditions(record), are_layers, page.width);
}

}  // namespace jitterscope
