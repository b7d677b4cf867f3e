// Plain loops of more and more launches, as a first benchmark times them.
#include "report/drawing.hpp"
#include "report/plots/run_plots.hpp"

namespace jitterscope::report {

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
  Plot plot{
      .id = "iterations",
      .title = "Time against iterations: " + result.name,
      .caption =
          "Plain loops without a gate, each from rest. Band: from the least to the most iteration; line: the mean; "
          "green: the median. Both axes are logarithmic.",
      .spec = single_plot(
          Json{{"height", 240}, {"data", data_of(rows)}, {"layer", {band, mean, points, medians}}}),
      .table = {counts}};
  plot.table.insert(plot.table.end(), columns.begin(), columns.end());
  return plot;
}

}  // namespace jitterscope::report
