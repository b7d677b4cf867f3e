#include "commands/run/plots.hpp"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "base/quantity_text.hpp"
#include "commands/run/record.hpp"
#include "commands/run/table.hpp"
#include "measure/rates_and_totals.hpp"
#include "measure/run_record.hpp"
#include "output/cells.hpp"
#include "output/text.hpp"
#include "report/drawing.hpp"

// Plots a run: its layers or its sweep first, then each operation if there are few.

namespace jitterscope::report {
namespace {

constexpr std::size_t kMostOperations = 4;  // with rounds drawn for each

std::vector<PlottedResult> results_to_plot(const RunRecord& record, const ConditionLabels& labels) {
  std::vector<std::string> operations;
  for (const Result& result : results_of(record)) operations.push_back(one_line(to_string(result.subject)));
  const bool several = record.entries.size() > 1;
  const std::vector<std::string> names = several ? label_operations(operations).labels : operations;
  std::vector<PlottedResult> results;
  for (std::size_t i = 0; i < record.entries.size(); ++i) {
    const RunEntry& entry = record.entries[i];
    std::string name = entry.layers.empty() ? names[i] : one_line(entry.layers.front());
    // Numbers the names, because bars of the same name would be drawn as one.
    if (several && !entry.layers.empty()) name = "#" + std::to_string(i + 1) + " " + name;
    results.push_back({entry, std::move(name), labels});
  }
  return results;
}

void add(std::optional<Plot> plot, std::vector<Plot>& plots) {
  if (plot) plots.push_back(*std::move(plot));
}

}  // namespace

std::vector<PlottedMeasurement> measurements_of(const PlottedResult& result) {
  std::vector<PlottedMeasurement> measurements;
  for (std::size_t i = 0; i < result.labels.conditions.size(); ++i) {
    const Measurement* measurement = find_measurement(result.entry.result, result.labels.conditions[i]);
    if (measurement != nullptr && !measurement->rounds.empty()) {
      measurements.push_back({*measurement, result.labels.labels[i]});
    }
  }
  return measurements;
}

Nanoseconds slowest_of(const std::vector<PlottedResult>& results) {
  Nanoseconds slowest(0);
  for (const PlottedResult& result : results) {
    for (const PlottedMeasurement& plotted : measurements_of(result)) {
      slowest = std::max(slowest, plotted.measurement.time.median);
    }
  }
  return slowest;
}

std::size_t first_settled_round(const Measurement& measurement) {
  if (!measurement.steadiness) return 0;
  return std::min(measurement.steadiness->settled_round, measurement.rounds.size());
}

std::vector<Plot> plots_of(const RunRecord& record) {
  const ConditionLabels labels = label_conditions(record);
  const std::vector<PlottedResult> results = results_to_plot(record, labels);
  std::vector<Plot> plots;
  if (is_network(record)) {
    add(layers_plot(record, results), plots);
    add(where_to_work_plot(record), plots);
    add(roofline_plot(record, results), plots);
  } else if (results.size() > 1) {
    std::optional<Plot> sweep = sweep_plot(record, results);
    add(sweep ? std::move(sweep) : times_plot(results), plots);
    add(roofline_plot(record, results), plots);
  }
  if (results.size() > kMostOperations) return plots;
  for (const PlottedResult& result : results) {
    for (auto* draw : {&iterations_plot, &distribution_plot, &rounds_plot, &clock_plot, &counters_plot}) {
      add(draw(result), plots);
    }
  }
  return plots;
}

// Below: distributions of rounds and launches under each condition.

namespace {

struct SettledTimes {
  std::vector<DrawnRound> rounds;
  std::vector<double> launches;  // sorted, in nanoseconds
  double grain = 0.0;
};

SettledTimes settled_part(const Measurement& measurement) {
  SettledTimes part;
  for (std::size_t i = first_settled_round(measurement); i < measurement.rounds.size(); ++i) {
    const Round& round = measurement.rounds[i];
    part.rounds.push_back({i + 1, round.time()});
    // Leaves out times that are not above 0, as the table's distribution does.
    for (const Nanoseconds launch : round.launches) {
      if (launch > Nanoseconds(0)) part.launches.push_back(launch.value());
    }
    part.grain = std::max(part.grain, round.grain.value());
  }
  std::ranges::sort(part.launches);
  return part;
}

// Counts the rounds drawn: an estimate may use fewer values, such as the blocks of a sustained load.
std::string what_was_read(const DrawnTimes& drawn) {
  std::string text =
      fmt::format("{}; {}, {}", estimate_text(drawn.time), counted(std::ssize(drawn.rounds), "round"),
                  counted(drawn.density.values, "reading"));
  if (drawn.density.outside > 0) text += fmt::format(", {} of them beyond the edges", drawn.density.outside);
  if (drawn.modes.size() > 1) text += fmt::format("; {} modes, dashed", drawn.modes.size());
  return text;
}

DrawnTimes drawn_times(const PlottedMeasurement& plotted, SettledTimes part) {
  std::vector<Nanoseconds> rounds;
  for (const DrawnRound& round : part.rounds) rounds.push_back(round.time);
  const Density density = density_of(part.launches, range_of(part.launches, rounds), part.grain);
  DrawnTimes drawn{.title = plotted.label,
                   .subtitle = {},
                   .of_what = "launches",
                   .bins = "launches",
                   .density = density,
                   .rounds = std::move(part.rounds),
                   .time = plotted.measurement.time,
                   .modes = plotted.measurement.modes};
  drawn.subtitle = what_was_read(drawn);
  return drawn;
}

}  // namespace

std::optional<Plot> distribution_plot(const PlottedResult& result) {
  Json views = Json::array();
  std::vector<TableColumn> table = columns_of(
      {"conditions", ">least", ">5 %", ">25 %", ">median", ">75 %", ">95 %", ">most", ">readings"});
  for (const PlottedMeasurement& plotted : measurements_of(result)) {
    SettledTimes part = settled_part(plotted.measurement);
    if (part.launches.empty()) continue;
    const Distribution& launches = plotted.measurement.launches;
    views.push_back(distribution_view(drawn_times(plotted, std::move(part)), unit_for(launches.median)));
    const auto shown = [](Nanoseconds time) { return time_text(time, 1e-3); };
    add_row(table, {plotted.label, shown(launches.minimum), shown(launches.p5), shown(launches.p25),
                    shown(launches.median), shown(launches.p75), shown(launches.p95), shown(launches.maximum),
                    std::to_string(launches.values)});
  }
  if (views.empty()) return std::nullopt;
  return Plot{.id = "distribution",
              .title = "Distribution of times: " + result.name,
              .caption =
                  "Blue: single launches. Orange: rounds, each the median of launches in a row. Green: the "
                  "median and its 95 % interval.",
              .spec = stacked_plots(views),
              .table = std::move(table)};
}

// Below: operations that differ in more than a number, one below the other.

std::optional<Plot> times_plot(const std::vector<PlottedResult>& results) {
  const TimeUnit unit = unit_for(slowest_of(results));
  Json rows = Json::array();
  std::vector<TableColumn> table = columns_of({"operation", "conditions", ">time"});
  for (const PlottedResult& result : results) {
    for (const PlottedMeasurement& plotted : measurements_of(result)) {
      const TimeEstimate& time = plotted.measurement.time;
      rows.push_back(Json{{"operation", result.name},
                          {"conditions", plotted.label},
                          {"time", unit.of(time.median)},
                          {"low", unit.of(has_interval(time) ? time.low : time.median)},
                          {"high", unit.of(has_interval(time) ? time.high : time.median)},
                          {"shown", estimate_text(time)}});
      add_row(table, {result.name, plotted.label, estimate_text(time)});
    }
  }
  if (rows.empty()) return std::nullopt;
  const std::set<std::string> kinds(table[1].cells.begin(), table[1].cells.end());
  const Json view = filled(
      R"({
    "height": "$height", "data": "$rows",
    "layer": [
      {"mark": {"type": "rule", "size": 3, "opacity": 0.5},
       "encoding": {"y": "$y", "yOffset": "$offset", "x": "low:Q", "x2": "high", "color": "$color"}},
      {"name": "times", "mark": {"type": "point", "filled": true, "size": 60},
       "encoding": {"y": "$y", "yOffset": "$offset", "x": {"field": "time:Q", "title": "time of one launch, $unit"},
                    "color": "$color",
                    "tooltip": [["operation", "operation"], ["conditions", "conditions"], ["shown", "time"]]}}
    ]
  })",
      "height", height_of(table[0].cells, 24 * static_cast<int>(kinds.size())), "rows", rows, "y",
      filled(R"({"field": "operation:N", "title": null, "sort": null, "axis": {"labelLimit": 300}})"),
      "offset", filled(R"({"field": "conditions", "sort": null})"), "unit", unit.name, "color",
      series_color("conditions", table[1].cells));
  return Plot{.id = "times",
              .title = "Times",
              .caption = "Points: medians. Bars: 95 % intervals.",
              .spec = single_plot(view),
              .table = std::move(table)};
}

// Below: plain loops with more and more launches, as a first benchmark times them.

std::optional<Plot> iterations_plot(const PlottedResult& result) {
  const std::vector<IterationRun>& runs = result.entry.result.iterations;
  if (runs.empty()) return std::nullopt;
  const TimeUnit unit = unit_for(runs.back().mean);
  Json rows = Json::array();
  std::vector<TableColumn> table = columns_of({">iterations"});
  for (const char* heading : {"least", "mean", "median", "most", "first"})
    table.push_back({unit.axis(heading), Align::right, {}});
  for (const IterationRun& run : runs) {
    rows.push_back(Json{{"count", run.count},
                        {"least", unit.of(run.minimum)},
                        {"mean", unit.of(run.mean)},
                        {"median", unit.of(run.median)},
                        {"most", unit.of(run.maximum)},
                        {"first", unit.of(run.first)}});
    const auto shown = [&](const char* field) { return cell(rows.back()[field].get<double>()); };
    add_row(table, {std::to_string(run.count), shown("least"), shown("mean"), shown("median"), shown("most"),
                    shown("first")});
  }
  const Json shared = channels(R"({
    "x": {"field": "count:Q", "title": "iterations in the loop", "scale": {"type": "log", "nice": false}},
    "tooltip": [["count", "iterations"], ["least", "least, $unit"], ["mean", "mean"], ["median", "median"], ["most", "most"],
                ["first", "first"]]
  })",
                               "unit", unit.name);
  const Json view = filled(R"({
    "height": 240, "data": "$rows",
    "layer": [
      {"mark": {"type": "area", "color": "$blue", "opacity": 0.25},
       "encoding": {"x": "$x", "y2": "most", "y": {"field": "least:Q", "title": "time of one iteration, $unit",
                                                   "scale": {"type": "log", "nice": false}}}},
      {"mark": {"type": "line", "color": "$blue", "size": 2}, "encoding": {"x": "$x", "y": "mean:Q"}},
      {"name": "means", "mark": {"type": "point", "filled": true, "color": "$blue", "size": 45},
       "encoding": {"x": "$x", "y": "mean:Q", "tooltip": "$read"}},
      {"name": "medians", "mark": {"type": "tick", "color": "$green", "thickness": 2, "size": 14},
       "encoding": {"x": "$x", "y": "median:Q", "tooltip": "$read"}}
    ]
  })",
                           "rows", rows, "x", shared["x"], "unit", unit.name, "read", shared["tooltip"]);
  return Plot{
      .id = "iterations",
      .title = "Time against iterations: " + result.name,
      .caption =
          "Plain loops without a held queue, each after a pause. Band: from the fastest to the slowest "
          "iteration. Line: the mean. Green: the median. Both axes are logarithmic.",
      .spec = single_plot(view),
      .table = std::move(table)};
}

// Below: bytes that a launch moved through the device's memory, beside those that it must move.

namespace {

std::optional<double> value_of(const CounterReading& reading, CounterQuantity quantity) {
  const auto found = std::ranges::find(reading.values, quantity, &CounterValue::quantity);
  return found == reading.values.end() ? std::nullopt : found->value;
}

// Binary units, as in the table.
struct BytesUnit {
  const char* name;
  double bytes;
};
BytesUnit bytes_unit_for(double largest) {
  for (const BytesUnit unit :
       {BytesUnit{"GiB", 0x1p30}, BytesUnit{"MiB", 0x1p20}, BytesUnit{"KiB", 0x1p10}}) {
    if (largest >= unit.bytes) return unit;
  }
  return {"B", 1.0};
}

}  // namespace

std::optional<Plot> counters_plot(const PlottedResult& result) {
  Json rows = Json::array();
  std::vector<TableColumn> table = columns_of({"bytes", "kind", ">moved"});
  double largest = 0.0;
  const auto add = [&](const std::string& what, const char* kind, std::optional<double> bytes) {
    if (!bytes) return;
    largest = std::max(largest, *bytes);
    const std::string shown = bytes_text(Bytes(static_cast<std::int64_t>(*bytes)));
    rows.push_back(Json{{"what", what}, {"kind", kind}, {"moved", *bytes}, {"shown", shown}});
    add_row(table, {what, kind, shown});
  };
  for (const LaunchCounters& counters : result.entry.result.counters) {
    const std::string what = std::string(to_string(counters.cache)) + ": moved";
    add(what, "read", value_of(counters.reading, CounterQuantity::dram_bytes_read));
    add(what, "written", value_of(counters.reading, CounterQuantity::dram_bytes_written));
  }
  const auto must = static_cast<double>(result.entry.result.bytes.value());
  if (rows.empty() || !(must > 0.0)) return std::nullopt;
  add("must move", "operands, each once", must);
  const BytesUnit unit = bytes_unit_for(largest);
  for (Json& row : rows) row["moved"] = rounded(row["moved"].get<double>() / unit.bytes);
  const Json view = filled(R"({
    "height": "$height", "data": "$rows", "name": "bytes", "mark": {"type": "bar"},
    "encoding": {
      "y": {"field": "what:N", "sort": null, "title": null},
      "x": {"field": "moved:Q", "title": "memory traffic of one launch, $unit"},
      "color": {"field": "kind:N", "title": null,
                "scale": {"domain": ["read", "written", "operands, each once"], "range": ["$blue", "$orange", "$grey"]}},
      "tooltip": [["what", "of"], ["kind", "kind"], ["shown", "bytes"]]
    }
  })",
                           "height", height_of(table[0].cells, 34), "rows", rows, "unit", unit.name);
  return Plot{
      .id = "counters",
      .title = "Bytes moved: " + result.name,
      .caption =
          "Bytes that the hardware counted between the GPU's L2 cache and its memory in one launch. Less "
          "than the operands: the cache kept a part.",
      .spec = single_plot(view),
      .table = std::move(table)};
}

}  // namespace jitterscope::report
