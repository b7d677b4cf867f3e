// How the times of rounds and launches are distributed, in each of the conditions.
#include <fmt/format.h>

#include <algorithm>

#include "base/quantity_text.hpp"
#include "output/estimate_text.hpp"
#include "report/drawing.hpp"
#include "report/plots/run_plots.hpp"
#include "statistics/statistics.hpp"

namespace jitterscope::report {
namespace {

constexpr int kBins = 60, kHeight = 130, kTickHeight = 14;
constexpr double kOutside = 0.005;  // of the launches at either end, which would press the others together

// Where launches and rounds lie: millions of them are as many bins.
struct Density {
  double low = 0.0, high = 0.0;  // nanoseconds
  std::vector<double> shares;    // of all launches; each bin as wide as the others
  std::int64_t values = 0, outside = 0;

  double edge(std::size_t bin) const {
    return low + (high - low) * static_cast<double>(bin) / static_cast<double>(shares.size());
  }
};

Density density_of(const Measurement& measurement) {
  std::vector<double> launches;
  double least_round = 0.0, largest_round = 0.0, grain = 0.0;
  const std::size_t first = first_settled_round(measurement);
  for (std::size_t i = first; i < measurement.rounds.size(); ++i) {
    const Round& round = measurement.rounds[i];
    for (const Nanoseconds launch : round.launches) launches.push_back(launch.value());
    const double time = round.time().value();
    least_round = i == first ? time : std::min(least_round, time);
    largest_round = i == first ? time : std::max(largest_round, time);
    grain = std::max(grain, round.grain.value());
  }
  std::ranges::sort(launches);
  Density density;
  if (launches.empty()) return density;
  const auto outside = static_cast<std::size_t>(kOutside * static_cast<double>(launches.size()));
  density.low = std::min(launches[outside], least_round);
  density.high = std::max(launches[launches.size() - 1 - outside], largest_round);
  const double margin = std::max((density.high - density.low) * 0.02, density.high * 1e-6);
  density.low -= margin;
  density.high += margin;
  // A bin narrower than the timer's grain would be empty every other time.
  const double width = std::max((density.high - density.low) / kBins, grain);
  const auto bins = std::max<std::size_t>(1, static_cast<std::size_t>((density.high - density.low) / width));
  density.shares.assign(bins, 0.0);
  density.values = std::ssize(launches);
  for (const double launch : launches) {
    const double place = (launch - density.low) / (density.high - density.low);
    if (place < 0.0 || place >= 1.0) {
      ++density.outside;
      continue;
    }
    density.shares[static_cast<std::size_t>(place * static_cast<double>(bins))] +=
        1.0 / static_cast<double>(launches.size());
  }
  return density;
}

Json bins_of(const Density& density, const TimeUnit& unit) {
  Json rows = Json::array();
  for (std::size_t bin = 0; bin < density.shares.size(); ++bin) {
    rows.push_back(Json{{"from", unit.of(Nanoseconds(density.edge(bin)))},
                        {"to", unit.of(Nanoseconds(density.edge(bin + 1)))},
                        {"share", rounded(density.shares[bin])}});
  }
  return rows;
}

Json rounds_of(const Measurement& measurement, const TimeUnit& unit) {
  Json rows = Json::array();
  for (std::size_t i = first_settled_round(measurement); i < measurement.rounds.size(); ++i) {
    rows.push_back(Json{{"round", i + 1}, {"time", unit.of(measurement.rounds[i].time())}});
  }
  return rows;
}

// The rounds that are drawn: an estimate may stand on fewer values, such as the blocks of a sustained load.
std::string what_was_read(const Measurement& measurement, const Density& density) {
  const auto rounds = static_cast<std::int64_t>(measurement.rounds.size() - first_settled_round(measurement));
  std::string text = fmt::format("{}; {}, {}", estimate_text(measurement.time), counted(rounds, "round"),
                                 counted(density.values, "reading"));
  if (density.outside > 0) text += fmt::format(", {} of them beyond the edges", density.outside);
  if (measurement.modes.size() > 1) text += fmt::format("; {} modes, dashed", measurement.modes.size());
  return text;
}

Json condition_view(const PlottedMeasurement& plotted, const Density& density, const TimeUnit& unit) {
  const Measurement& measurement = plotted.measurement;
  Json from = quantity("from", unit.axis("time of one launch"),
                       parsed(R"({"bin": "binned", "scale": {"zero": false}})"));
  Json share =
      quantity("share", "share of launches", parsed(R"({"axis": {"format": "~%", "tickCount": 3}})"));
  Json bars{{"data", data_of(bins_of(density, unit))},
            {"name", "launches"},
            {"mark", {{"type", "bar"}, {"color", kBlue}, {"opacity", 0.45}, {"binSpacing", 0}}},
            {"encoding",
             {{"x", from},
              {"x2", {{"field", "to"}}},
              {"y", share},
              {"tooltip", tooltip({{"from", "from, " + unit.name},
                                   {"to", "to, " + unit.name},
                                   {"share", "share of launches"}})}}}};
  Json ticks{
      {"data", data_of(rounds_of(measurement, unit))},
      {"name", "rounds"},
      {"mark",
       {{"type", "tick"}, {"color", kOrange}, {"opacity", 0.7}, {"thickness", 1.5}, {"size", kTickHeight}}},
      {"encoding",
       {{"x", {{"field", "time"}, {"type", "quantitative"}}},
        {"y", {{"value", kHeight - kTickHeight / 2}}},
        {"tooltip", tooltip({{"round", "round"}, {"time", "median of its launches, " + unit.name}})}}}};
  Json layers = Json::array({bars, ticks});
  if (has_interval(measurement.time)) {
    layers.push_back(Json{
        {"data", data_of(Json::array({Json{{"low", unit.of(measurement.time.low)},
                                           {"high", unit.of(measurement.time.high)}}}))},
        {"name", "interval"},
        {"mark", {{"type", "rect"}, {"color", kGreen}, {"opacity", 0.25}}},
        {"encoding",
         {{"x", {{"field", "low"}, {"type", "quantitative"}}},
          {"x2", {{"field", "high"}}},
          {"tooltip", tooltip({{"low", "interval from, " + unit.name}, {"high", "to, " + unit.name}})}}}});
  }
  layers.push_back(Json{{"data", data_of(Json::array({Json{{"median", unit.of(measurement.time.median)}}}))},
                        {"name", "median"},
                        {"mark", {{"type", "rule"}, {"color", kGreen}, {"size", 2}}},
                        {"encoding",
                         {{"x", {{"field", "median"}, {"type", "quantitative"}}},
                          {"tooltip", tooltip({{"median", "median, " + unit.name}})}}}});
  if (measurement.modes.size() > 1) {
    Json modes = Json::array();
    for (const Mode& mode : measurement.modes) {
      modes.push_back(Json{{"mode", unit.of(mode.location)}, {"weight", rounded(mode.weight)}});
    }
    layers.push_back(
        Json{{"data", data_of(modes)},
             {"name", "modes"},
             {"mark", {{"type", "rule"}, {"color", kRed}, {"strokeDash", {4, 3}}}},
             {"encoding",
              {{"x", {{"field", "mode"}, {"type", "quantitative"}}},
               {"tooltip", tooltip({{"mode", "mode at, " + unit.name}, {"weight", "share of launches"}})}}}});
  }
  return Json{{"title", {{"text", plotted.label}, {"subtitle", what_was_read(measurement, density)}}},
              {"height", kHeight},
              {"layer", layers}};
}

}  // namespace

std::optional<Plot> distribution_plot(const PlottedResult& result) {
  Json views = Json::array();
  TableColumn conditions = text_column("conditions");
  std::vector<TableColumn> columns;
  for (const char* heading : {"least", "5 %", "25 %", "median", "75 %", "95 %", "most"}) {
    columns.push_back(number_column(heading));
  }
  TableColumn values = number_column("readings");
  for (const PlottedMeasurement& plotted : measurements_of(result)) {
    const Density density = density_of(plotted.measurement);
    if (density.values == 0) continue;
    const Distribution& launches = plotted.measurement.launches;
    views.push_back(condition_view(plotted, density, unit_for(launches.median)));
    conditions.cells.push_back(plotted.label);
    const Nanoseconds shown[] = {launches.minimum, launches.p5,  launches.p25,    launches.median,
                                 launches.p75,     launches.p95, launches.maximum};
    for (std::size_t i = 0; i < columns.size(); ++i) columns[i].cells.push_back(time_text(shown[i], 1e-3));
    values.cells.push_back(std::to_string(launches.values));
  }
  if (views.empty()) return std::nullopt;
  Plot plot{
      .id = "distribution",
      .title = "Distribution of times: " + result.name,
      .caption =
          "Blue: readings of launches. Orange: rounds, the medians of launches in a row. Green: the median, and "
          "the interval that holds it in 95 of 100 runs.",
      .spec = stacked_plots(views),
      .table = {conditions}};
  plot.table.insert(plot.table.end(), columns.begin(), columns.end());
  plot.table.push_back(values);
  return plot;
}

}  // namespace jitterscope::report
