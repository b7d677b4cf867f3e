#include "output/comparison_rows.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "base/quantity_text.hpp"
#include "operation/operation.hpp"
#include "output/cells.hpp"
#include "output/text.hpp"

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
    // The second alternative may lack conditions that the third has.
    if (std::ranges::find(rows, conditions, &AlternativeRow::conditions) == rows.end())
      rows.push_back({names[0], conditions, &comparison.first, nullptr});
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

// Returns "2026-11-27 14:03"; empty if the record has no date.
std::string measured_text(const ComparisonRecord& record, std::size_t alternative) {
  constexpr std::size_t kMinutes = 16;
  if (alternative >= record.measured.size()) return {};
  std::string text = one_line(record.measured[alternative]).substr(0, kMinutes);
  std::ranges::replace(text, 'T', ' ');
  return text;
}

Nanoseconds weight_of(const ComparisonRecord& record, const Comparison& comparison) {
  const Nanoseconds change =
      comparison.second.time.median / work_of(record, comparison.alternative) - comparison.first.time.median;
  return Nanoseconds(std::abs(change.value()) * static_cast<double>(comparison.count));
}

}  // namespace

Text alternatives_table(const ComparisonRecord& record, const std::vector<std::string>& names,
                        const Page& page) {
  const bool are_comparable = !has_unlike_amounts(record);
  TableColumn alternatives{"", Align::left, {}}, conditions{"conditions", Align::left, {}},
      measured{"measured", Align::left, {}, 10},
      times{"time", Align::right, {}, record.works.empty() ? 2 : 5},
      changes{against(names[0]), Align::right, {}}, same_work{same_work_heading(record), Align::right, {}, 1},
      rates{"rate", Align::right, {}, are_comparable ? 5 : 1}, memories{"operands", Align::right, {}, 7},
      moved{"DRAM", Align::right, {}, 6}, errors{"error", Align::right, {}},
      cycles{"in cycles", Align::right, {}, 8}, clocks{"clock", Align::right, {}, 9},
      verdicts{"verdict", Align::left, {}};
  for (const AlternativeRow& row : alternative_rows(record, names)) {
    alternatives.cells.push_back(row.name);
    conditions.cells.push_back(row.conditions);
    measured.cells.push_back(measured_text(record, row.comparison ? row.comparison->alternative : 0));
    times.cells.push_back(estimate_text(row.side->time));
    times.narrow.push_back(time_text(row.side->time.median, row.side->time.precision()));
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
  if (names.size() > 2 && is_of_files(record)) columns.push_back(measured);
  columns.push_back(times);
  if (!record.works.empty()) columns.insert(columns.end(), {same_work, memories});
  if (has_amounts(record)) columns.push_back(rates);
  columns.push_back(moved);
  // Details show the clocks in a table of their own, where no width makes them disappear.
  if (!page.details) columns.push_back(clocks);
  if (are_comparable) columns.push_back(changes);
  if (are_comparable && !page.details) columns.push_back(cycles);
  if (has_errors(record)) columns.push_back(errors);
  if (are_comparable) columns.push_back(verdicts);
  return fitted_table(std::move(columns), page.width);
}

std::vector<const Comparison*> rows_of_layers(const ComparisonRecord& record) {
  std::vector<const Comparison*> rows;
  for (const Comparison& comparison : record.comparisons) {
    if (comparison.failure.empty()) rows.push_back(&comparison);
  }
  // Typed operations keep their order: a sweep is read from its smallest to its largest.
  if (!record.totals.empty()) {
    std::ranges::stable_sort(rows, std::greater(),
                             [&](const Comparison* row) { return weight_of(record, *row); });
  }
  return rows;
}

Text layers_table(const ComparisonRecord& record, const std::vector<std::string>& names, const Page& page) {
  std::vector<const Comparison*> rows = rows_of_layers(record);
  const bool are_layers = !record.totals.empty();
  const std::vector<std::string> labels = row_labels(rows);
  const std::size_t all = rows.size();
  rows.resize(std::min(all, page.top.value_or(all)));
  const bool are_comparable = !has_unlike_amounts(record);
  TableColumn rates{"rate", Align::right, {}, are_comparable ? 6 : 1};
  TableColumn layers{are_layers ? "layer" : "operation", Align::left, {}}, counts{"×", Align::right, {}, 8},
      conditions{"conditions", Align::left, {}}, alternatives{"", Align::left, {}},
      firsts{names[0], Align::right, {}, 7},
      seconds{names.size() == 2 ? names[1] : "time", Align::right, {}, 3},
      same_work{same_work_heading(record), Align::right, {}, 1}, errors{"error", Align::right, {}, 1},
      changes{"against " + names[0], Align::right, {}}, verdicts{"verdict", Align::left, {}};
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Comparison* row = rows[i];
    layers.cells.push_back(one_line(labels[i]));
    counts.cells.push_back(std::to_string(row->count));
    conditions.cells.push_back(cache_and_load(row->first.conditions));
    alternatives.cells.push_back(names[row->alternative]);
    firsts.cells.push_back(time_text(row->first.time.median, row->first.time.precision()));
    seconds.cells.push_back(time_text(row->second.time.median, row->second.time.precision()));
    same_work.cells.push_back(record.samples.empty()
                                  ? same_work_text(record, row->second, row->alternative)
                                  : fmt::format("{} → {}", same_work_text(record, row->first, 0),
                                                same_work_text(record, row->second, row->alternative)));
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
  if (are_comparable) columns.push_back(changes);
  if (has_errors(record)) columns.push_back(errors);
  if (are_comparable) columns.push_back(verdicts);
  Text text = fitted_table(std::move(columns), page.width);
  const auto is_called_again = [](const Comparison* row) { return row->count > 1; };
  if (are_layers && std::ranges::any_of(rows, is_called_again))
    text += wrapped("Times in rows are for one call; × is the number of calls.", page.width);
  if (rows.size() < all) {
    text += wrapped(fmt::format("{} of {} rows{}; all: --top all.", rows.size(), all,
                                are_layers ? ", the largest change of the total first" : ""),
                    page.width);
  }
  return text;
}

namespace {

// Returns the same item under the same conditions by another alternative; null if it has no time.
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

// Returns the totals of all alternatives in the same conditions beside each other.
std::vector<const TotalComparison*> by_conditions(const std::vector<TotalComparison>& totals) {
  std::vector<const TotalComparison*> sorted;
  for (const TotalComparison& total : totals) sorted.push_back(&total);
  const auto place = [&](const TotalComparison* total) {
    return std::ranges::find_if(totals,
                                [&](const TotalComparison& other) {
                                  return other.cache == total->cache && other.load == total->load;
                                }) -
           totals.begin();
  };
  std::ranges::stable_sort(sorted, {}, place);
  return sorted;
}

// With few processes the ratios have an interval, but the sums have none.
std::string total_text(const TimeEstimate& sum) {
  return has_interval(sum) ? estimate_text(sum) : time_text(sum.median);
}

}  // namespace

Text totals_table(const ComparisonRecord& record, const std::vector<std::string>& names, std::size_t width) {
  TableColumn alternatives{"all together", Align::left, {}}, conditions{"conditions", Align::left, {}},
      measured{"measured", Align::left, {}, 4}, times{"time", Align::right, {}, 2},
      same_work{same_work_heading(record), Align::right, {}, 1}, changes{against(names[0]), Align::right, {}},
      errors{"largest error", Align::right, {}}, verdicts{"verdict", Align::left, {}};
  const auto add = [&](const TotalComparison& total, std::size_t alternative) {
    const bool is_first = alternative == 0;
    alternatives.cells.push_back(names[alternative]);
    conditions.cells.push_back(fmt::format("{} {}", to_string(total.cache), to_string(total.load)));
    measured.cells.push_back(measured_text(record, alternative));
    const TimeEstimate& time = is_first ? total.first : total.second;
    const auto& sample = is_first ? total.first_per_sample : total.second_per_sample;
    times.cells.push_back(total_text(time));
    same_work.cells.push_back(
        time_text(sample.value_or(time.median / work_of(record, alternative)), time.precision()));
    changes.cells.push_back(is_first ? "" : change_of(total.time));
    errors.cells.push_back(largest_error_text(record, alternative));
    verdicts.cells.emplace_back(is_first ? "" : to_string(total.verdict));
  };
  const TotalComparison* before = nullptr;
  for (const TotalComparison* total : by_conditions(record.totals)) {
    const bool is_first = before == nullptr || before->cache != total->cache || before->load != total->load;
    if (is_first) add(*total, 0);
    add(*total, total->alternative);
    before = total;
  }
  std::vector<TableColumn> columns = {alternatives};
  if (has_several_conditions(record)) columns.push_back(conditions);
  if (names.size() > 2 && is_of_files(record)) columns.push_back(measured);
  columns.push_back(times);
  if (!record.works.empty()) columns.push_back(same_work);
  columns.push_back(changes);
  if (has_errors(record)) columns.push_back(errors);
  columns.push_back(verdicts);
  return fitted_table(std::move(columns), width);
}

Text times_table(const ComparisonRecord& record, const std::vector<std::string>& names, const Page& page) {
  std::vector<const Comparison*> items;
  // A layer that the second alternative lacks may be in the third.
  const auto is_known = [&](const Comparison& comparison) {
    return std::ranges::any_of(items, [&](const Comparison* item) {
      return item->first.subject == comparison.first.subject && item->layers == comparison.layers &&
             condition_of(record, *item) == condition_of(record, comparison);
    });
  };
  for (const Comparison& comparison : record.comparisons) {
    if (comparison.failure.empty() && !is_known(comparison)) items.push_back(&comparison);
  }
  const bool are_layers = !record.totals.empty();
  // With files a person asks what changed, with a study's arms where the time is.
  const bool by_change = is_of_files(record);
  const auto weight = [&](const Comparison* item) {
    if (!by_change) return time_of_all(*item);
    Nanoseconds most(0);
    for (std::size_t alternative = 1; alternative < names.size(); ++alternative) {
      if (const Comparison* other = beside(record, *item, alternative))
        most = std::max(most, weight_of(record, *other));
    }
    return most;
  };
  if (are_layers) std::ranges::stable_sort(items, std::greater(), weight);
  const std::vector<std::string> labels = row_labels(items);
  const std::size_t all = items.size();
  items.resize(std::min(all, page.top.value_or(all)));
  std::string heading = are_layers ? "layer" : "operation";
  if (!record.samples.empty()) heading += ", per sample";
  TableColumn layers{std::move(heading), Align::left, {}}, counts{"×", Align::right, {}},
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
  std::vector<TableColumn> keys = {layers};
  if (has_several_conditions(record)) keys.push_back(conditions);
  if (are_layers) times.insert(times.begin(), counts);
  Text text = split_tables(keys, times, page.width);
  if (items.size() < all) {
    text += wrapped(fmt::format("{} of {} rows{}; all: --top all.", items.size(), all,
                                !are_layers ? ""
                                : by_change ? ", what changes the total most first"
                                            : ", the longest first"),
                    page.width);
  }
  return text;
}

namespace {

std::string clock_or_absent(const std::optional<Hertz>& clock) {
  return clock ? clock_text(*clock) : std::string(kAbsent);
}

// Typed operations form no network.
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
    // A sum has no blocks and no launch.
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
    // If each process has one block, the deviation within a process is unknown.
    const bool has_spread = comparison.processes > 1 && comparison.within > 0.0;
    moved_before_.cells.push_back(moved_text(comparison.first));
    moved_.cells.push_back(moved_text(comparison.second));
    at_once_before_.cells.push_back(at_once_text(comparison.first));
    at_once_.cells.push_back(at_once_text(comparison.second));
    withins_.cells.push_back(has_spread ? percent_text(comparison.within) : std::string(kAbsent));
    betweens_.cells.push_back(has_spread ? percent_text(comparison.between) : std::string(kAbsent));
  }

  Text text(bool has_conditions, bool are_layers, std::size_t width) const {
    std::vector<TableColumn> keys = {labels_}, columns;
    if (has_conditions) keys.push_back(conditions_);
    if (are_layers && names_.size() > 2) keys.push_back(alternatives_);
    for (const TableColumn* column : {&firsts_, &seconds_, &cycles_, &moved_before_, &moved_,
                                      &at_once_before_, &at_once_, &withins_, &betweens_}) {
      const auto is_known = [](const std::string& cell) { return cell != kAbsent; };
      if (column == &cycles_ && !is_comparable_) continue;
      if (std::ranges::any_of(column->cells, is_known)) columns.push_back(*column);
    }
    return split_tables(keys, columns, width);
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

Text comparison_details(const ComparisonRecord& record, const std::vector<std::string>& names,
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

std::string cache_and_load(const Conditions& conditions) {
  return fmt::format("{} {}", to_string(conditions.cache), to_string(conditions.load));
}

bool has_several_conditions(const ComparisonRecord& record) {
  return std::ranges::any_of(record.comparisons, [&](const Comparison& comparison) {
    return cache_and_load(comparison.first.conditions) !=
           cache_and_load(record.comparisons.front().first.conditions);
  });
}

std::string condition_of(const ComparisonRecord& record, const Comparison& comparison) {
  return has_several_conditions(record) ? cache_and_load(comparison.first.conditions) : std::string();
}

std::string against(const std::string& first) {
  constexpr std::size_t kLongest = 16;
  return first.size() <= kLongest ? "against " + first : "against the first";
}

bool has_amounts(const ComparisonRecord& record) {
  return std::ranges::any_of(record.comparisons, [](const Comparison& each) {
    return each.first.amount.has_value() || each.second.amount.has_value();
  });
}

bool has_unlike_amounts(const ComparisonRecord& record) {
  return std::ranges::any_of(record.comparisons, [](const Comparison& each) {
    return each.first.amount && each.second.amount && each.first.amount->unit != each.second.amount->unit;
  });
}

std::string amount_text(const ComparedSide& side) {
  if (!side.amount) return std::string(kAbsent);
  const double per_second = side.amount->count / (side.time.median.value() * 1e-9);
  switch (side.amount->unit) {
    case Amount::Unit::loads:
      return time_text(side.time.median / side.amount->count, side.time.precision()) + " a load";
    case Amount::Unit::bytes: return rate_text(per_second, "B/s");
    case Amount::Unit::additions: return rate_text(per_second, " additions/s");
  }
  return std::string(kAbsent);
}

std::string moved_text(const ComparedSide& side) {
  const auto moved = side.counters ? moved_bytes(side.counters->reading) : std::nullopt;
  return moved ? bytes_text(*moved) : std::string(kAbsent);
}

std::string at_once_text(const ComparedSide& side) {
  if (!side.concurrency) return std::string(kAbsent);
  const std::int64_t streams = side.concurrency->streams;
  return fmt::format("{:.1f} on {} stream{}", side.concurrency->mean_at_once, streams,
                     streams == 1 ? "" : "s");
}

std::string operands_text(const ComparedSide& side) {
  const Operation* operation = operation_of(side.subject);
  return operation == nullptr ? std::string(kAbsent) : bytes_text(operand_memory(*operation));
}

std::string error_text(const ComparedSide& side) {
  if (!side.verification) return std::string(kAbsent);
  const Verification& found = *side.verification;
  if (found.unwritten > 0) return fmt::format("{} unwritten WRONG", found.unwritten);
  return fmt::format("{:.1e}{}", found.relative_error, found.passed ? "" : " WRONG");
}

std::string change_text(const Comparison& comparison) {
  return is_wrong(comparison) ? std::string(kAbsent) : change_of(comparison.time);
}

std::string verdict_text(const Comparison& comparison) {
  return std::string(is_wrong(comparison) ? "WRONG RESULT" : to_string(comparison.verdict));
}

bool has_errors(const ComparisonRecord& record) {
  const auto has_error = [](const ComparedSide& side) {
    return side.verification && (side.verification->relative_error != 0.0 || !side.verification->passed);
  };
  return std::ranges::any_of(record.comparisons, [&](const Comparison& each) {
    return has_error(each.first) || has_error(each.second);
  });
}

std::vector<std::string> row_labels(const std::vector<const Comparison*>& rows) {
  std::vector<std::string> operations;
  for (const Comparison* row : rows) operations.push_back(to_string(row->first.subject));
  std::vector<std::string> labels = label_operations(operations).labels;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (!rows[i]->layers.empty()) labels[i] = rows[i]->layers.front();
  }
  return labels;
}

std::string same_work_text(const ComparisonRecord& record, const ComparedSide& side,
                           std::size_t alternative) {
  const Nanoseconds same_work = side.time.median / work_of(record, alternative);
  return time_text(side.per_sample.value_or(same_work), side.time.precision());
}

std::string same_work_heading(const ComparisonRecord& record) {
  return record.samples.empty() ? "same work" : "per sample";
}

std::string largest_error_text(const ComparisonRecord& record, std::size_t alternative) {
  const ComparedSide* worst = nullptr;
  for (const Comparison& comparison : record.comparisons) {
    const ComparedSide& side = alternative == 0 ? comparison.first : comparison.second;
    if ((alternative > 0 && comparison.alternative != alternative) || !side.verification) continue;
    if (worst == nullptr || side.verification->relative_error > worst->verification->relative_error) {
      worst = &side;
    }
  }
  return worst == nullptr ? std::string(kAbsent) : error_text(*worst);
}

}  // namespace jitterscope
