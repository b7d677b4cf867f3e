// Operations that differ in a number, against it.
#include <algorithm>
#include <charconv>
#include <map>
#include <set>

#include "base/quantity_text.hpp"
#include "measure/achieved_rate.hpp"
#include "operation/parse.hpp"
#include "output/estimate_text.hpp"
#include "output/rate_text.hpp"
#include "report/drawing.hpp"
#include "report/plots/run_plots.hpp"

namespace jitterscope::report {
namespace {

using Parameters = std::map<std::string, std::string>;

std::optional<Parameters> parameters_of(const Result& result) {
  Parameters parameters;
  if (const auto* callable = std::get_if<Callable>(&result.subject)) {
    if (callable->parameters.empty()) return std::nullopt;
    for (const Property& each : callable->parameters) parameters[each.key] = each.value;
    return parameters;
  }
  const Operation* operation = operation_of(result.subject);
  if (std::holds_alternative<Aten>(operation->parameters())) return std::nullopt;
  for (const ParameterValues& parameter : split_operation(operation->text()).parameters) {
    if (parameter.values.size() == 1) parameters[parameter.name] = parameter.values.front();
  }
  return parameters;
}

std::optional<double> number_in(const std::string& text) {
  double number = 0.0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (problem != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

// The number that has the most values; all else that differs names a line.
struct SweptParameter {
  std::string name;
  std::vector<double> at;           // of each result
  std::vector<std::string> series;  // of each result: "dtype=f16"; empty where nothing else differs
};

std::optional<SweptParameter> swept_parameter(const std::vector<PlottedResult>& results) {
  std::vector<Parameters> all;
  std::set<std::string_view> kinds;
  for (const PlottedResult& result : results) {
    const std::optional<Parameters> parameters = parameters_of(result.entry.result);
    if (!parameters) return std::nullopt;
    all.push_back(*parameters);
    const Operation* operation = operation_of(result.entry.result.subject);
    kinds.insert(operation != nullptr ? operation->kind() : "callable");
  }
  if (kinds.size() != 1) return std::nullopt;
  std::map<std::string, std::set<std::string>> values;
  for (const Parameters& parameters : all) {
    for (const auto& [name, value] : parameters) values[name].insert(value);
  }
  SweptParameter swept;
  std::size_t most = 1;
  for (const auto& [name, texts] : values) {
    const bool is_number = std::ranges::all_of(all, [&, key = name](const Parameters& parameters) {
      const auto found = parameters.find(key);
      return found != parameters.end() && number_in(found->second).has_value();
    });
    if (is_number && texts.size() > most) {
      most = texts.size();
      swept.name = name;
    }
  }
  if (most < 3) return std::nullopt;
  for (const Parameters& parameters : all) {
    swept.at.push_back(*number_in(parameters.at(swept.name)));
    std::string series;
    for (const auto& [name, value] : parameters) {
      if (name == swept.name || values[name].size() == 1) continue;
      series += (series.empty() ? "" : ", ") + name + "=" + value;
    }
    swept.series.push_back(series);
  }
  return swept;
}

Json rows_with(const Json& rows, const std::string& field) {
  Json with = Json::array();
  for (const Json& row : rows) {
    if (row.contains(field)) with.push_back(row);
  }
  return with;
}

// A logarithm has no zero: an interval that reaches it goes on below all else. False where a time is none.
bool make_room_for_logarithms(Json& rows) {
  double least = rows.front()["high"].get<double>();
  for (const Json& row : rows) {
    if (!(row["time"].get<double>() > 0.0)) return false;
    for (const char* field : {"low", "time"}) {
      if (row[field].get<double>() > 0.0) least = std::min(least, row[field].get<double>());
    }
  }
  for (Json& row : rows) {
    if (!(row["low"].get<double>() > 0.0)) row["low"] = rounded(least / 2.0);
  }
  return true;
}

Json line_view(const Json& rows, const Json& x, const Json& y, const Json& series, const Json& read,
               bool has_band) {
  Json layers = Json::array();
  if (has_band) {
    layers.push_back(Json{{"name", "intervals"},
                          {"mark", {{"type", "area"}, {"opacity", 0.25}}},
                          {"encoding",
                           {{"x", x},
                            {"y", {{"field", "low"}, {"type", "quantitative"}}},
                            {"y2", {{"field", "high"}}},
                            {"color", series}}}});
  }
  layers.push_back(
      Json{{"mark", {{"type", "line"}, {"size", 2}}}, {"encoding", {{"x", x}, {"y", y}, {"color", series}}}});
  Json points{{"name", has_band ? "times" : "points"},
              {"mark", {{"type", "point"}, {"filled", true}, {"size", 40}}},
              {"encoding", {{"x", x}, {"y", y}, {"color", series}, {"tooltip", read}}}};
  // Where a row has no value its line has a gap.
  const Json with_value = rows_with(rows, y["field"].get<std::string>());
  if (with_value.size() < rows.size()) points["data"] = data_of(with_value);
  layers.push_back(points);
  return Json{{"height", 190}, {"data", data_of(rows)}, {"layer", layers}};
}

// A range of powers of two is drawn evenly.
bool is_geometric(std::vector<double> at) {
  std::ranges::sort(at);
  return at.front() > 0.0 && at.back() / at.front() >= 8.0;
}

}  // namespace

std::optional<Plot> sweep_plot(const RunRecord& record, const std::vector<PlottedResult>& results) {
  const std::optional<SweptParameter> swept = swept_parameter(results);
  if (!swept) return std::nullopt;
  const TimeUnit unit = unit_for(slowest_of(results));
  Json rows = Json::array();
  const bool has_flops = std::ranges::all_of(
      results, [](const PlottedResult& result) { return result.entry.result.flops > 0.0; });
  TableColumn at = number_column(swept->name), series_names = text_column("series"),
              times = number_column("time"), rates = number_column("rate"),
              shares = number_column("share of ceiling");
  for (std::size_t i = 0; i < results.size(); ++i) {
    for (const PlottedMeasurement& plotted : measurements_of(results[i])) {
      const TimeEstimate& time = plotted.measurement.time;
      std::string series = plotted.label;
      if (!swept->series[i].empty()) series = swept->series[i] + "; " + series;
      Json row{{"at", swept->at[i]},
               {"series", series},
               {"time", unit.of(time.median)},
               {"low", unit.of(has_interval(time) ? time.low : time.median)},
               {"high", unit.of(has_interval(time) ? time.high : time.median)},
               {"shown", estimate_text(time)}};
      at.cells.push_back(cell(swept->at[i]));
      series_names.cells.push_back(series);
      times.cells.push_back(estimate_text(time));
      const Result& result = results[i].entry.result;
      const double work = has_flops ? result.flops : static_cast<double>(result.bytes.value());
      row["rate"] = work / to_seconds(time.median);
      rates.cells.push_back(rate_text(work / to_seconds(time.median), has_flops ? "FLOP/s" : "B/s"));
      const std::optional<AchievedRate> rate = achieved_rate(result, time.median, record);
      shares.cells.push_back(rate ? share_text(*rate) : "");
      row["share_shown"] = shares.cells.back();
      if (rate && rate->ceiling_share && !rate->is_above_ceiling()) {
        row["share"] = rounded(std::min(*rate->ceiling_share, 1.0));
      }
      rows.push_back(std::move(row));
    }
  }
  if (rows.empty()) return std::nullopt;
  double largest = 0.0;
  for (const Json& row : rows) largest = std::max(largest, row["rate"].get<double>());
  const bool has_rates = largest > 0.0;  // nobody knows what a callable's work is
  const bool has_ceilings =
      std::ranges::any_of(shares.cells, [](const std::string& each) { return !each.empty(); });
  const RateUnit rate_unit = rate_unit_for(largest, has_flops ? "FLOP/s" : "B/s");
  for (Json& row : rows) {
    if (has_rates) {
      row["rate"] = rate_unit.of(row["rate"].get<double>());
    } else {
      row.erase("rate");
    }
    if (!has_ceilings) row.erase("share_shown");
  }
  Json x = quantity("at", swept->name, not_from_zero());
  if (is_geometric(swept->at)) x["scale"] = parsed(R"({"type": "log", "base": 2, "nice": false})");
  const Json series = series_color("series", series_names.cells);
  Json read = tooltip({{"at", swept->name}, {"series", "of"}, {"shown", "time"}});
  if (has_rates) read.push_back(Json{{"field", "rate"}, {"title", rate_unit.name}});
  if (has_ceilings) read.push_back(Json{{"field", "share_shown"}, {"title", "share of the ceiling"}});
  Json time_axis = quantity("time", unit.axis("time of one launch"));
  if (is_geometric(swept->at) && make_room_for_logarithms(rows)) {
    time_axis["scale"] = parsed(R"({"type": "log", "nice": false})");
  }
  Json views = Json::array({line_view(rows, x, time_axis, series, read, true)});
  if (has_rates) views.push_back(line_view(rows, x, quantity("rate", rate_unit.name), series, read, false));
  if (!rows_with(rows, "share").empty()) {
    Json share = quantity("share", "share of ceiling", parsed(R"({"axis": {"format": "~%"}})"));
    views.push_back(line_view(rows, x, share, series, read, false));
  }
  std::string caption = "Bands: intervals that hold the median in 95 of 100 runs.";
  if (has_ceilings) caption += " Ceilings are the best rates measured on this device.";
  const std::string above = ceiling_words_explained(shares.cells);
  if (!above.empty())
    caption += " No share is drawn of what was faster than its ceiling; in the table, " + above;
  std::vector<TableColumn> table = {at, series_names, times};
  if (has_rates) table.push_back(rates);
  if (has_ceilings) table.push_back(shares);
  return Plot{
      .id = "sweep",
      .title = "Against " + swept->name + (record.title.empty() ? std::string() : ": " + record.title),
      .caption = std::move(caption),
      .spec = stacked_plots(views),
      .table = std::move(table)};
}

}  // namespace jitterscope::report
