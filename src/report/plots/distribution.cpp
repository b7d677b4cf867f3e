// How the times of rounds and launches are distributed, in each of the conditions.
#include <fmt/format.h>

#include <algorithm>

#include "base/quantity_text.hpp"
#include "output/estimate_text.hpp"
#include "report/drawing.hpp"
#include "report/plots/density.hpp"
#include "report/plots/run_plots.hpp"

namespace jitterscope::report {
namespace {

struct SettledTimes {
  std::vector<DrawnRound> rounds;
  std::vector<double> launches;  // sorted
  double grain = 0.0;
};

SettledTimes settled_part(const Measurement& measurement) {
  SettledTimes part;
  for (std::size_t i = first_settled_round(measurement); i < measurement.rounds.size(); ++i) {
    const Round& round = measurement.rounds[i];
    part.rounds.push_back({i + 1, round.time()});
    // As in the distribution that the table has: none is a time that is not above zero.
    for (const Nanoseconds launch : round.launches) {
      if (launch > Nanoseconds(0)) part.launches.push_back(launch.value());
    }
    part.grain = std::max(part.grain, round.grain.value());
  }
  std::ranges::sort(part.launches);
  return part;
}

// The rounds that are drawn: an estimate may stand on fewer values, such as the blocks of a sustained load.
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
