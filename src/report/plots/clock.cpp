// How the time follows the SM clock: t = a + b/f.
#include <algorithm>

#include "base/quantity_text.hpp"
#include "report/drawing.hpp"
#include "report/plots/run_plots.hpp"

namespace jitterscope::report {
namespace {

constexpr int kFitPoints = 40;

double megahertz(Hertz clock) { return rounded(clock.value() / 1e6); }

Json fitted_line(const TimeAtReferenceClock& fit, double from, double to, const TimeUnit& unit) {
  Json rows = Json::array();
  const Nanoseconds at_reference = fit.time - fit.fixed_part;
  for (int i = 0; i <= kFitPoints; ++i) {
    const double clock = from + (to - from) * i / kFitPoints;
    rows.push_back(
        Json{{"clock", rounded(clock)},
             {"time", unit.of(fit.fixed_part + at_reference * (fit.reference.value() / 1e6 / clock))}});
  }
  return rows;
}

Json fit_view(const PlottedMeasurement& plotted, const Json& rounds, const TimeUnit& unit) {
  const TimeAtReferenceClock& fit = *plotted.measurement.at_reference_clock;
  double from = megahertz(fit.reference), to = from;
  for (const Json& round : rounds) {
    from = std::min(from, round["clock"].get<double>());
    to = std::max(to, round["clock"].get<double>());
  }
  Json points{
      {"data", data_of(rounds)},
      {"name", "rounds"},
      {"mark", {{"type", "point"}, {"filled", true}, {"size", 22}, {"opacity", 0.6}, {"color", kBlue}}},
      {"encoding",
       {{"x", quantity("clock", "SM clock, MHz", not_from_zero())},
        {"y", quantity("time", unit.axis("time of one launch"), not_from_zero())},
        {"tooltip", tooltip({{"clock", "SM clock, MHz"}, {"time", "time, " + unit.name}})}}}};
  Json line{{"data", data_of(fitted_line(fit, from, to, unit))},
            {"name", "fit"},
            {"mark", {{"type", "line"}, {"color", kGreen}, {"size", 2}}},
            {"encoding",
             {{"x", {{"field", "clock"}, {"type", "quantitative"}}},
              {"y", {{"field", "time"}, {"type", "quantitative"}}}}}};
  Json reference{{"data", data_of(Json::array({Json{{"clock", megahertz(fit.reference)},
                                                    {"time", unit.of(fit.time)},
                                                    {"low", unit.of(fit.low)},
                                                    {"high", unit.of(fit.high)}}}))},
                 {"name", "reference"},
                 {"mark", {{"type", "rule"}, {"color", kRed}, {"size", 3}}},
                 {"encoding",
                  {{"x", {{"field", "clock"}, {"type", "quantitative"}}},
                   {"y", {{"field", "low"}, {"type", "quantitative"}}},
                   {"y2", {{"field", "high"}}},
                   {"tooltip", tooltip({{"clock", "reference clock, MHz"},
                                        {"time", "time, " + unit.name},
                                        {"low", "interval from"},
                                        {"high", "to"}})}}}};
  const std::string subtitle =
      percent_text(fit.clock_share) + " of the time follows the clock, the rest does not";
  return Json{{"title", {{"text", plotted.label}, {"subtitle", subtitle}}},
              {"height", 180},
              {"layer", {points, line, reference}}};
}

}  // namespace

std::optional<Plot> clock_plot(const PlottedResult& result) {
  Json views = Json::array();
  TableColumn conditions = text_column("conditions"), clocks = number_column("clock, MHz"),
              times = number_column("time");
  for (const PlottedMeasurement& plotted : measurements_of(result)) {
    if (!plotted.measurement.at_reference_clock) continue;
    const TimeUnit unit = unit_for(plotted.measurement.time.median);
    Json rounds = Json::array();
    const std::vector<Round>& all = plotted.measurement.rounds;
    for (std::size_t i = first_settled_round(plotted.measurement); i < all.size(); ++i) {
      const Round& round = all[i];
      if (!round.clock) continue;
      rounds.push_back(Json{{"clock", megahertz(*round.clock)}, {"time", unit.of(round.time())}});
      conditions.cells.push_back(plotted.label);
      clocks.cells.push_back(cell(megahertz(*round.clock)));
      times.cells.push_back(cell(unit.of(round.time())) + " " + unit.name);
    }
    if (!rounds.empty()) views.push_back(fit_view(plotted, rounds, unit));
  }
  if (views.empty()) return std::nullopt;
  return Plot{
      .id = "clock",
      .title = "Time against clock: " + result.name,
      .caption =
          "Green: the fit t = a + b/f over all rounds. Red: the time at the reference clock with its 95 % interval.",
      .spec = stacked_plots(views),
      .table = {conditions, clocks, times}};
}

}  // namespace jitterscope::report
