#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>

#include "base/quantity_text.hpp"
#include "output/display_text.hpp"
#include "output/estimate_text.hpp"
#include "output/run_rates.hpp"
#include "output/run_sections.hpp"
#include "output/table.hpp"

namespace jitterscope {
namespace {

using Columns = std::vector<TableColumn>;

bool is_model(const RunRecord& record) {
  for (const Result& result : record.results) {
    if (!result.layers.empty() || result.count > 1) return true;
  }
  return false;
}

constexpr std::string_view kOfCeiling = "of ceiling";
constexpr std::size_t kLongestName = 36;  // the number of its row identifies a layer

std::string layer_text(const Result& result) {
  std::string text = result.layers.empty() ? std::string(kAbsent)
                                           : cut_to_width(one_line(result.layers.front()), kLongestName);
  if (result.count > 1) text += fmt::format(" ×{}", result.count);
  return text;
}

// A model's total in one condition. The layers' errors are added, not taken as independent: the clock is
// common to all of them, and so is the error of the instrument's constant, which hardly matters to one launch
// and is 39 us in the 391 of MobileNet V2.
std::string total_text(const RunRecord& record, const Conditions& conditions) {
  TimeEstimate total;
  total.rounds = std::numeric_limits<std::int64_t>::max();  // no round holds a total
  bool complete = true, interval = true;
  for (const Result& result : record.results) {
    const Measurement* measurement = find_measurement(result, conditions);
    if (!measurement || measurement->time.rounds == 0) {
      complete = false;
      continue;
    }
    const TimeEstimate& time = measurement->time;
    const auto count = static_cast<double>(result.count);
    interval = interval && has_interval(time);
    total.median += count * time.median;
    total.low += count * (time.low - instrument_error(*measurement));
    total.high += count * (time.high + instrument_error(*measurement));
  }
  if (!complete) return "over " + time_text(total.median);
  return interval ? estimate_text(total) : time_text(total.median) + ", no interval";
}

Columns key_columns(const RunRecord& record, bool model) {
  TableColumn number{"#", Align::right, {}}, layer{"layer", Align::left, {}};
  for (std::size_t row = 0; row < record.results.size(); ++row) {
    number.cells.push_back(fmt::format("{}", row + 1));
    layer.cells.push_back(layer_text(record.results[row]));
  }
  return model ? Columns{number, layer} : Columns{number};
}

// Only above the times: no other column can be added up.
Columns with_total(Columns keys, const RunRecord& record) {
  std::int64_t launches = 0;
  for (const Result& result : record.results) launches += result.count;
  keys.back().cells.push_back(fmt::format("total ×{}", launches));
  return keys;
}

Columns time_columns(const RunRecord& record, const ConditionLabels& labels, bool model) {
  Columns columns;
  for (std::size_t i = 0; i < labels.conditions.size(); ++i) {
    TableColumn column{labels.labels[i], Align::right, {}};
    for (const Result& result : record.results) {
      const Measurement* measurement = find_measurement(result, labels.conditions[i]);
      const std::string absent(result.failure.empty() ? kAbsent : "failed");
      column.cells.push_back(measurement ? estimate_text(measurement->time) : absent);
    }
    if (model) column.cells.push_back(total_text(record, labels.conditions[i]));
    columns.push_back(column);
  }
  return columns;
}

// Of the model's time in the first condition, as far as it was measured.
TableColumn share_of_total(const RunRecord& record, const ConditionLabels& labels) {
  TableColumn column{"share", Align::right, {}};
  std::vector<std::optional<Nanoseconds>> times;
  Nanoseconds total;
  for (const Result& result : record.results) {
    const Measurement* measurement =
        labels.conditions.empty() ? nullptr : find_measurement(result, labels.conditions.front());
    times.emplace_back();
    if (measurement == nullptr) continue;
    times.back() = static_cast<double>(result.count) * measurement->time.median;
    total += *times.back();
  }
  for (const auto& time : times) {
    column.cells.push_back(time ? percent_text(*time / total) : std::string(kAbsent));
  }
  return column;
}

// What a call took where it was recorded, and this time over it; both absent where nothing was recorded.
Columns recorded_columns(const RunRecord& record, const ConditionLabels& labels) {
  TableColumn recorded{"recorded", Align::right, {}}, ratio{"here", Align::right, {}};
  bool any = false;
  for (const Result& result : record.results) {
    const Measurement* measurement =
        labels.conditions.empty() ? nullptr : find_measurement(result, labels.conditions.front());
    any = any || result.recorded_time;
    recorded.cells.push_back(result.recorded_time ? time_text(*result.recorded_time) : std::string(kAbsent));
    ratio.cells.push_back(result.recorded_time && measurement
                              ? change_text(measurement->time.median / *result.recorded_time - 1.0)
                              : std::string(kAbsent));
  }
  return any ? Columns{recorded, ratio} : Columns();
}

// Clock and rate are those of the first condition: a column for each would be wider than a page.
Columns fact_columns(const RunRecord& record, const ConditionLabels& labels, bool model) {
  TableColumn clock{"clock", Align::right, {}}, rate{"rate", Align::right, {}},
      share{std::string(kOfCeiling), Align::right, {}}, bound{"bound by", Align::left, {}},
      launch{"launch", Align::right, {}}, first{"first call", Align::right, {}};
  for (const Result& result : record.results) {
    const Measurement* measurement =
        labels.conditions.empty() ? nullptr : find_measurement(result, labels.conditions.front());
    std::optional<AchievedRate> achieved;
    if (measurement) achieved = achieved_rate(result, measurement->time.median, record.ceilings);
    const bool has_clock = measurement && measurement->clock;
    const auto positive = [](Nanoseconds time) {
      return time.value() > 0 ? duration_text(time) : std::string(kAbsent);
    };
    clock.cells.push_back(has_clock ? clock_text(measurement->clock->median) : std::string(kAbsent));
    rate.cells.push_back(achieved ? achieved->rate : std::string(kAbsent));
    share.cells.push_back(achieved && !achieved->share.empty() ? achieved->share : std::string(kAbsent));
    bound.cells.emplace_back(!achieved ? kAbsent : achieved->compute_bound ? "compute" : "memory");
    launch.cells.push_back(positive(result.launch_cost));
    first.cells.push_back(positive(result.first_call));
  }
  Columns columns = {clock, rate, share, bound, launch, first};
  if (model) columns.insert(columns.begin(), share_of_total(record, labels));
  const Columns recorded = recorded_columns(record, labels);
  columns.insert(columns.begin(), recorded.begin(), recorded.end());
  return columns;
}

std::string explain(const ConditionLabels& labels, const std::vector<std::string>& shares, bool model) {
  std::string explanation;
  if (!labels.conditions.empty()) {
    explanation += "Clock, rate, shares and the nearer ceiling are those of " + labels.labels.front() +
                   "; launch is the host's time for one launch call. ";
  }
  if (std::ranges::find(shares, kInCache) != shares.end()) {
    explanation += fmt::format("{} ", kInCacheExplained);
  }
  if (model) {
    explanation +=
        "Share is of the total. The total adds the layers' times, none of the work between them; its ± adds "
        "their half-widths, as they share the clock, and for each launch what is not known of the "
        "instrument's "
        "constant, which no ± of a layer holds.";
  }
  return explanation;
}

Columns operator+(Columns left, const Columns& right) {
  left.insert(left.end(), right.begin(), right.end());
  return left;
}

}  // namespace

std::string several_operations_table(const RunRecord& record, const ConditionLabels& labels,
                                     const std::vector<std::string>& names) {
  const bool model = is_model(record);
  const Columns operation = {{"operation", Align::left, names}};
  const Columns keys = key_columns(record, model) + (model ? Columns() : operation);
  const Columns timed_keys = model ? with_total(keys, record) : keys;
  const Columns described = model ? operation : Columns();
  const Columns times = time_columns(record, labels, model), facts = fact_columns(record, labels, model);
  std::string text;
  if (const Columns all = timed_keys + described + times + facts; table_width(all) <= kPageWidth) {
    text = markdown_table(all);
  } else if (const Columns first = timed_keys + described + times; table_width(first) <= kPageWidth) {
    text = markdown_table(first) + '\n' + markdown_table(keys + facts);
  } else {
    // The row's number stands for the layer where both names do not fit.
    const Columns second = keys + described + facts;
    text = markdown_table(timed_keys + times) + '\n' +
           markdown_table(table_width(second) <= kPageWidth ? second : Columns{keys[0]} + operation + facts);
  }
  const auto shares = std::ranges::find(facts, kOfCeiling, &TableColumn::heading);
  const std::string explanation = explain(labels, shares->cells, model);
  return explanation.empty() ? text : text + '\n' + wrapped(explanation, kPageWidth);
}

}  // namespace jitterscope
