// Plots the step over the number of GPUs, and one step of its ranks.
#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "base/quantity_text.hpp"
#include "commands/plan/record.hpp"

namespace jitterscope::report {
namespace {

constexpr const char* kOverRanks = R"({
    "width": "$width", "height": 320, "data": "$rows",
    "encoding": {"x": {"field": "ranks:Q", "title": "GPUs", "scale": {"type": "log", "base": 2, "nice": false}, "axis": {"values": "$ticks"}}, "color": "$color"},
    "layer": [
      {"mark": {"type": "area", "opacity": 0.25}, "encoding": {"y": {"field": "low:Q", "title": "$title", "scale": {"type": "log", "nice": false}}, "y2": {"field": "high"}}},
      {"mark": {"type": "line", "point": true}, "encoding": {"y": {"field": "value:Q", "title": "$title", "scale": {"type": "log", "nice": false}},
        "tooltip": [["name:N", "kind"], ["ranks:Q", "GPUs"], ["arrangement:N", "arrangement"], ["value", "$title"], ["low", "low"], ["high", "high"]]}}]})";

// Arrangements of one kind are one line.
std::string kind_of(const ForecastStep& step, std::int64_t ranks) {
  if (ranks == 1) return "one GPU";
  if (step.data == ranks) return "data-parallel";
  if (step.tensor == ranks) return "tensor-parallel";
  if (step.pipeline == ranks) return "pipeline";
  return "hybrid";
}

Plot over_ranks(const ForecastRecord& record) {
  std::vector<std::string> names;
  Nanoseconds largest;
  for (const ForecastRanks& ranks : record.ranks)
    for (const ForecastStep& step : ranks.steps) largest = std::max(largest, step.step.value);
  const TimeUnit unit = unit_for(largest);
  Plot plot{
      .id = "step_over_gpus",
      .title = "Step over the number of GPUs",
      .caption =
          "The fastest arrangement of each kind that fits, at the same micro-batches for each GPU. The band "
          "is the 95 % interval from those of layers and collectives.",
      .spec = {},
      .table = columns_of({"GPUs", "kind", "arrangement", ">step", ">samples/s", "memory"})};
  Json rows = Json::array(), ticks = Json::array();
  for (const ForecastRanks& ranks : record.ranks) {
    ticks.push_back(ranks.ranks);
    std::set<std::string> seen;
    for (const ForecastStep& step : ranks.steps) {
      const std::string kind = kind_of(step, ranks.ranks);
      if (!step.fits || !seen.insert(kind).second) continue;
      if (std::ranges::find(names, kind) == names.end()) names.push_back(kind);
      rows.push_back({{"name", kind},
                      {"ranks", ranks.ranks},
                      {"arrangement", step.arrangement},
                      {"value", rounded(unit.of(step.step.value))},
                      {"low", rounded(unit.of(step.step.low))},
                      {"high", rounded(unit.of(step.step.high))}});
      add_row(plot.table, {fmt::format("{}", ranks.ranks), kind, step.arrangement, time_text(step.step.value),
                           fmt::format("{:.4g}", step.samples_per_second), bytes_text(step.memory())});
    }
  }
  if (rows.empty()) return plot;
  plot.spec = single_plot(filled(kOverRanks, "rows", rows, "width", kAxesWidth, "color",
                                 series_color("name", names), "title", unit.axis("step"), "ticks", ticks));
  return plot;
}

constexpr const char* kTimeline = R"({
    "width": "$width", "height": "$height", "data": "$rows",
    "mark": {"type": "rect"},
    "encoding": {"y": "$y", "x": {"field": "begin:Q", "title": "$title", "scale": {"nice": false}}, "x2": {"field": "end"},
      "color": "$color",
      "tooltip": [["lane:N", "rank"], ["name:N", "work"], ["begin", "from, $unit"], ["end", "to, $unit"]]}})";

Plot timeline(const ForecastRecord& record) {
  Nanoseconds length;
  for (const ForecastSpan& span : record.spans) length = std::max(length, span.end);
  const TimeUnit unit = unit_for(length);
  Plot plot{
      .id = "timeline",
      .title =
          fmt::format("One step of {} on {}", record.drawn_arrangement, counted(record.drawn_ranks, "GPU")),
      .caption = "One rank stands for all that do the same. Exchanges are below the work of their rank.",
      .spec = {},
      .table = columns_of({"rank", "phase", "work", ">from", ">to"})};
  std::vector<std::string> lanes;
  Json rows = Json::array();
  constexpr std::size_t kRowsOfTable = 200;
  for (const ForecastSpan& span : record.spans) {
    const bool is_exchange = span.phase == "exchange";
    const std::string lane = fmt::format("rank {}{}", span.rank, is_exchange ? ", exchange" : "");
    if (std::ranges::find(lanes, lane) == lanes.end()) lanes.push_back(lane);
    rows.push_back({{"lane", lane},
                    {"phase", span.phase},
                    {"name", span.name},
                    {"begin", rounded(unit.of(span.begin))},
                    {"end", rounded(unit.of(span.end))}});
    if (plot.table.front().cells.size() < kRowsOfTable)
      add_row(plot.table, {fmt::format("{}", span.rank), span.phase, span.name, time_text(span.begin),
                           time_text(span.end)});
  }
  constexpr int kLane = 18, kLongest = 160;
  plot.spec = single_plot(filled(
      kTimeline, "rows", rows, "width", width_beside(lanes, kLongest), "height", height_of(lanes, kLane), "y",
      names_axis("lane", lanes, kLongest), "title", unit.axis("time in the step"), "unit", unit.name, "color",
      filled(
          R"({"field": "phase:N", "title": null, "scale": {"domain": ["forward", "backward", "exchange"], "range": ["$blue", "$green", "$orange"]}})")));
  return plot;
}

}  // namespace

std::vector<Plot> plots_of(const ForecastRecord& record) {
  std::vector<Plot> plots;
  Plot step = over_ranks(record);
  if (!step.spec.empty()) plots.push_back(std::move(step));
  if (!record.spans.empty()) plots.push_back(timeline(record));
  return plots;
}

}  // namespace jitterscope::report
