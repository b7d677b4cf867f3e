#include "commands/history/plots.hpp"

#include <algorithm>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "base/quantity_text.hpp"
#include "commands/gate/table.hpp"
#include "experiment/gate.hpp"
#include "jitterscope/error.hpp"
#include "output/cells.hpp"
#include "report/drawing.hpp"

namespace jitterscope {
namespace {

using namespace report;

// Number of plots, the slowest series first: nobody reads a hundred plots.
constexpr std::size_t kMostPlots = 12;

struct HistoryPoint {
  std::string moment, id;
  TimeEstimate time;
  std::optional<GateCase> change;  ///< against the record before; empty for the first
  std::string circumstances;       ///< circumstances that also changed
};

struct HistorySeries {
  std::string label;
  std::vector<HistoryPoint> points;
};

// Returns "2026-11-23 20:11:05", or the ID if the record has no date; numbered to be unique.
std::string moment_of(const DatedRecord& dated, std::set<std::string>& taken) {
  std::string moment = dated.record.environment.time.empty() ? dated.id : dated.record.environment.time;
  std::ranges::replace(moment, 'T', ' ');
  if (moment.ends_with('Z')) moment.pop_back();
  const std::string own = moment;
  for (int number = 2; !taken.insert(moment).second; ++number) moment = fmt::format("{} ({})", own, number);
  return moment;
}

ComparisonRecord compared(const RunRecord& first, const RunRecord& second, double margin) {
  ComparisonRecord record;
  record.margin = margin;
  record.title = second.title;
  record.alternatives = {"before", "now"};
  compare_records(first, {&second, 1}, record, Judging::gate);
  return record;
}

// Returns nullopt if the records have nothing in common.
std::optional<ComparisonRecord> compared_if_alike(const RunRecord& first, const RunRecord& second,
                                                  double margin) {
  try {
    return compared(first, second, margin);
  } catch (const UsageError&) {
    return std::nullopt;
  }
}

std::string circumstances_of(const ComparisonRecord& record) {
  std::string text;
  for (const RecordDifference& difference : record.differences) {
    if (!difference.may_explain) continue;
    text += fmt::format("{}{}: {} → {}", text.empty() ? "" : "; ", difference.name,
                        difference.first.empty() ? "none" : difference.first,
                        difference.second.empty() ? "none" : difference.second);
  }
  return text;
}

class SeriesBuilder {
 public:
  explicit SeriesBuilder(double margin) : margin_(margin) {}

  void add(const RunRecord* before, const DatedRecord& dated) {
    const std::string moment = moment_of(dated, moments_);
    std::optional<ComparisonRecord> change;
    if (before) change = compared_if_alike(*before, dated.record, margin_);
    // Compared with itself, a record has the same cases as when compared with the next one.
    const std::optional<ComparisonRecord> own = compared_if_alike(dated.record, dated.record, margin_);
    if (!own) return;
    const std::string circumstances = change ? circumstances_of(*change) : std::string();
    for (const GateCase& each : gate_cases(*own)) {
      if (!each.failure.empty()) continue;
      series_of(case_label(each))
          .points.push_back({moment, dated.id, each.now, change_of_case(change, each), circumstances});
    }
  }

  // Returns the series in order, or only the slowest of many.
  std::vector<HistorySeries> series() && {
    if (series_.size() > kMostPlots) {
      const auto time_of = [](const HistorySeries& series) { return series.points.back().time.median; };
      std::ranges::stable_sort(series_, std::greater(), time_of);
      series_.resize(kMostPlots);
    }
    return std::move(series_);
  }

 private:
  static std::optional<GateCase> change_of_case(const std::optional<ComparisonRecord>& change,
                                                const GateCase& own) {
    if (!change) return std::nullopt;
    for (const GateCase& each : gate_cases(*change)) {
      if (each.failure.empty() && case_label(each) == case_label(own)) return each;
    }
    return std::nullopt;
  }

  HistorySeries& series_of(const std::string& label) {
    const auto found = std::ranges::find(series_, label, &HistorySeries::label);
    if (found != series_.end()) return *found;
    return series_.emplace_back(HistorySeries{label, {}});
  }

  double margin_;
  std::set<std::string> moments_;
  std::vector<HistorySeries> series_;
};

Plot plot_of(const std::string& name, const HistorySeries& series, double margin) {
  Nanoseconds largest(0);
  for (const HistoryPoint& point : series.points) largest = std::max(largest, point.time.high);
  const TimeUnit unit = unit_for(largest);
  Json rows = Json::array(), changes = Json::array();
  std::vector<TableColumn> table = columns_of({"record", ">time, " + unit.name, ">from", ">to",
                                               "against the one before", "verdict", "what else changed"});
  for (const HistoryPoint& point : series.points) {
    const std::string verdict = point.change ? std::string(to_string(point.change->verdict)) : "first";
    const std::string change = point.change ? change_words(*point.change, margin) : "";
    rows.push_back(Json{{"record", point.moment},
                        {"id", point.id},
                        {"time", unit.of(point.time.median)},
                        {"low", unit.of(point.time.low)},
                        {"high", unit.of(point.time.high)},
                        {"change", change},
                        {"verdict", verdict}});
    if (!point.circumstances.empty()) {
      changes.push_back(Json{{"record", point.moment}, {"what", point.circumstances}});
    }
    add_row(table, {name + "/" + point.id, cell(unit.of(point.time.median)), cell(unit.of(point.time.low)),
                    cell(unit.of(point.time.high)), change, verdict, point.circumstances});
  }
  Json in_order = Json::array();
  for (const Json& row : rows) in_order.push_back(row["record"]);
  const auto y = [&](const char* field) {
    return filled(R"({"field": "$field:Q", "title": "time of one launch, $unit", "scale": {"zero": false}})",
                  "field", field, "unit", unit.name);
  };
  const Json view = filled(
      R"({
    "height": 260,
    "layer": [
      {"name": "changes", "data": "$changes", "mark": {"type": "rule", "color": "$orange", "strokeDash": [4, 4], "size": 2},
       "encoding": {"x": "$x", "tooltip": [["record", "measured"], ["what", "what else changed"]]}},
      {"data": "$rows", "mark": {"type": "line", "color": "$grey", "opacity": 0.6}, "encoding": {"x": "$x", "y": "$time"}},
      {"data": "$rows", "mark": {"type": "rule", "size": 3},
       "encoding": {"x": "$x", "y": "$low", "y2": "high", "color": "$color"}},
      {"name": "records", "data": "$rows", "mark": {"type": "point", "filled": true, "size": 80},
       "encoding": {"x": "$x", "y": "$time", "color": "$color",
                    "tooltip": [["record", "measured"], ["id", "record"], ["time", "time, $unit"],
                                ["change", "against the one before"], ["verdict", "verdict"]]}}
    ]
  })",
      "changes", changes, "rows", rows, "unit", unit.name, "time", y("time"), "low", y("low"), "x",
      filled(R"({"field": "record:N", "title": null, "sort": "$order", "axis": {"labelAngle": -40}})",
             "order", in_order),
      "color", filled(R"({"field": "verdict:N", "title": "against the one before",
           "scale": {"domain": ["faster", "slower", "same", "undecided", "first"],
                     "range": ["$green", "$red", "$blue", "$grey", "$purple"]}})"));
  return Plot{
      .id = "history",
      .title = name + ": " + series.label,
      .caption = fmt::format(
          "Medians with 95 % intervals, coloured by the verdict of a gate with a margin of {} against "
          "the record before. Dashed: something else changed, too, such as the driver, the clock or a "
          "library.",
          percent_text(margin)),
      .spec = single_plot(view),
      .table = std::move(table)};
}

}  // namespace

std::vector<Plot> history_plots(const std::string& name, std::span<const DatedRecord> records,
                                double margin) {
  SeriesBuilder builder(margin);
  const RunRecord* before = nullptr;
  for (const DatedRecord& dated : records) {
    builder.add(before, dated);
    before = &dated.record;
  }
  std::vector<Plot> plots;
  for (const HistorySeries& series : std::move(builder).series())
    plots.push_back(plot_of(name, series, margin));
  return plots;
}

}  // namespace jitterscope
