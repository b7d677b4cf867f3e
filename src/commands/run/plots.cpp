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
  TableColumn conditions = text_column("conditions");
  std::vector<TableColumn> columns = quantile_columns();
  TableColumn values = number_column("readings");
  for (const PlottedMeasurement& plotted : measurements_of(result)) {
    SettledTimes part = settled_part(plotted.measurement);
    if (part.launches.empty()) continue;
    const Distribution& launches = plotted.measurement.launches;
    views.push_back(distribution_view(drawn_times(plotted, std::move(part)), unit_for(launches.median)));
    conditions.cells.push_back(plotted.label);
    const Nanoseconds shown[] = {launches.minimum, launches.p5,  launches.p25,    launches.median,
                                 launches.p75,     launches.p95, launches.maximum};
    for (std::size_t i = 0; i < columns.size(); ++i) columns[i].cells.push_back(time_text(shown[i], 1e-3));
    values.cells.push_back(std::to_string(launches.values));
  }
  if (views.empty()) return std::nullopt;
  Plot plot{.id = "distribution",
            .title = "Distribution of times: " + result.name,
            .caption =
                "Blue: single launches. Orange: rounds, each the median of launches in a row. Green: the "
                "median and its 95 % interval.",
            .spec = stacked_plots(views),
            .table = {conditions}};
  plot.table.insert(plot.table.end(), columns.begin(), columns.end());
  plot.table.push_back(values);
  return plot;
}

// Below: operations that differ in more than a number, one below the other.

std::optional<Plot> times_plot(const std::vector<PlottedResult>& results) {
  const TimeUnit unit = unit_for(slowest_of(results));
  Json rows = Json::array();
  TableColumn names = text_column("operation"), conditions = text_column("conditions"),
              times = number_column("time");
  for (const PlottedResult& result : results) {
    for (const PlottedMeasurement& plotted : measurements_of(result)) {
      const TimeEstimate& time = plotted.measurement.time;
      rows.push_back(Json{{"operation", result.name},
                          {"conditions", plotted.label},
                          {"time", unit.of(time.median)},
                          {"low", unit.of(has_interval(time) ? time.low : time.median)},
                          {"high", unit.of(has_interval(time) ? time.high : time.median)},
                          {"shown", estimate_text(time)}});
      names.cells.push_back(result.name);
      conditions.cells.push_back(plotted.label);
      times.cells.push_back(estimate_text(time));
    }
  }
  if (rows.empty()) return std::nullopt;
  const std::set<std::string> kinds(conditions.cells.begin(), conditions.cells.end());
  const auto conditions_drawn = static_cast<int>(kinds.size());
  const Json y =
      category("operation", "", parsed(R"({"title": null, "sort": null, "axis": {"labelLimit": 300}})"));
  const Json offset = parsed(R"({"field": "conditions", "sort": null})");
  const Json color = series_color("conditions", conditions.cells);
  Json intervals{{"mark", {{"type", "rule"}, {"size", 3}, {"opacity", 0.5}}},
                 {"encoding", intervals_in_rows(y, offset, color)}};
  Json points{{"name", "times"},
              {"mark", {{"type", "point"}, {"filled", true}, {"size", 60}}},
              {"encoding",
               {{"y", y},
                {"yOffset", offset},
                {"x", quantity("time", unit.axis("time of one launch"))},
                {"color", color},
                {"tooltip",
                 tooltip({{"operation", "operation"}, {"conditions", "conditions"}, {"shown", "time"}})}}}};
  return Plot{.id = "times",
              .title = "Times",
              .caption = "Points: medians. Bars: 95 % intervals.",
              .spec = single_plot(Json{{"height", height_of(names.cells, 24 * conditions_drawn)},
                                       {"data", data_of(rows)},
                                       {"layer", {intervals, points}}}),
              .table = {names, conditions, times}};
}

// Below: plain loops with more and more launches, as a first benchmark times them.

std::optional<Plot> iterations_plot(const PlottedResult& result) {
  const std::vector<IterationRun>& runs = result.entry.result.iterations;
  if (runs.empty()) return std::nullopt;
  const TimeUnit unit = unit_for(runs.back().mean);
  Json rows = Json::array();
  TableColumn counts = number_column("iterations");
  std::vector<TableColumn> columns;
  for (const char* heading : {"least", "mean", "median", "most", "first"}) {
    columns.push_back(number_column(unit.axis(heading)));
  }
  for (const IterationRun& run : runs) {
    rows.push_back(Json{{"count", run.count},
                        {"least", unit.of(run.minimum)},
                        {"mean", unit.of(run.mean)},
                        {"median", unit.of(run.median)},
                        {"most", unit.of(run.maximum)},
                        {"first", unit.of(run.first)}});
    counts.cells.push_back(std::to_string(run.count));
    const Nanoseconds shown[] = {run.minimum, run.mean, run.median, run.maximum, run.first};
    for (std::size_t i = 0; i < columns.size(); ++i) columns[i].cells.push_back(cell(unit.of(shown[i])));
  }
  Json x =
      quantity("count", "iterations in the loop", parsed(R"({"scale": {"type": "log", "nice": false}})"));
  Json y = quantity("least", unit.axis("time of one iteration"),
                    parsed(R"({"scale": {"type": "log", "nice": false}})"));
  Json read = tooltip({{"count", "iterations"},
                       {"least", "least, " + unit.name},
                       {"mean", "mean"},
                       {"median", "median"},
                       {"most", "most"},
                       {"first", "first"}});
  Json band{{"mark", {{"type", "area"}, {"color", kBlue}, {"opacity", 0.25}}},
            {"encoding", {{"x", x}, {"y", y}, {"y2", {{"field", "most"}}}}}};
  Json mean{{"mark", {{"type", "line"}, {"color", kBlue}, {"size", 2}}},
            {"encoding", {{"x", x}, {"y", {{"field", "mean"}, {"type", "quantitative"}}}}}};
  Json points{
      {"name", "means"},
      {"mark", {{"type", "point"}, {"filled", true}, {"color", kBlue}, {"size", 45}}},
      {"encoding", {{"x", x}, {"y", {{"field", "mean"}, {"type", "quantitative"}}}, {"tooltip", read}}}};
  Json medians{
      {"name", "medians"},
      {"mark", {{"type", "tick"}, {"color", kGreen}, {"thickness", 2}, {"size", 14}}},
      {"encoding", {{"x", x}, {"y", {{"field", "median"}, {"type", "quantitative"}}}, {"tooltip", read}}}};
  Plot plot{.id = "iterations",
            .title = "Time against iterations: " + result.name,
            .caption =
                "Plain loops without a held queue, each after a pause. Band: from the fastest to the slowest "
                "iteration. Line: the mean. Green: the median. Both axes are logarithmic.",
            .spec = single_plot(
                Json{{"height", 240}, {"data", data_of(rows)}, {"layer", {band, mean, points, medians}}}),
            .table = {counts}};
  plot.table.insert(plot.table.end(), columns.begin(), columns.end());
  return plot;
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
  TableColumn of_what = text_column("bytes"), kinds = text_column("kind"), counts = number_column("moved");
  double largest = 0.0;
  const auto add = [&](const std::string& what, const char* kind, std::optional<double> bytes) {
    if (!bytes) return;
    largest = std::max(largest, *bytes);
    const std::string shown = bytes_text(Bytes(static_cast<std::int64_t>(*bytes)));
    rows.push_back(Json{{"what", what}, {"kind", kind}, {"moved", *bytes}, {"shown", shown}});
    of_what.cells.push_back(what);
    kinds.cells.emplace_back(kind);
    counts.cells.push_back(shown);
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
  Json spec{{"height", height_of(of_what.cells, 34)},
            {"data", data_of(rows)},
            {"name", "bytes"},
            {"mark", {{"type", "bar"}}},
            {"encoding",
             {{"y", category("what", "", parsed(R"({"sort": null, "title": null})"))},
              {"x", quantity("moved", std::string("memory traffic of one launch, ") + unit.name)},
              {"color", category("kind", "",
                                 Json{{"title", nullptr},
                                      {"scale",
                                       {{"domain", {"read", "written", "operands, each once"}},
                                        {"range", {kBlue, kOrange, kGrey}}}}})},
              {"tooltip", tooltip({{"what", "of"}, {"kind", "kind"}, {"shown", "bytes"}})}}}};
  return Plot{
      .id = "counters",
      .title = "Bytes moved: " + result.name,
      .caption =
          "Bytes that the hardware counted between the GPU's L2 cache and its memory in one launch. Less "
          "than the operands: the cache kept a part.",
      .spec = single_plot(spec),
      .table = {of_what, kinds, counts}};
}

}  // namespace jitterscope::report
