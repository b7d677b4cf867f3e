// The layers of a network by their share of its time; a click shows the rounds behind one.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <span>

#include "base/quantity_text.hpp"
#include "finding/sequence_reason.hpp"
#include "report/drawing.hpp"
#include "report/plots/run_plots.hpp"

namespace jitterscope::report {
namespace {

constexpr std::size_t kMostLayers = 40;      // bars that a page shows apart
constexpr std::size_t kRoundsOfLayer = 100;  // behind a click
constexpr int kLongestLabel = 320;           // pixels

struct LayerRows {
  Json bars = Json::array(), rounds = Json::array(), recorded = Json::array(), in_place = Json::array();
  std::vector<std::string> order;  // by share, the largest first
};

Nanoseconds first_time(const PlottedResult& result) {
  const auto measured = measurements_of(result);
  return measured.empty()
             ? Nanoseconds(0)
             : measured.front().measurement.time.median * static_cast<double>(result.entry.count);
}

std::vector<const PlottedResult*> slowest_first(const std::vector<PlottedResult>& results) {
  std::vector<const PlottedResult*> sorted;
  for (const PlottedResult& result : results) {
    if (first_time(result).value() > 0.0) sorted.push_back(&result);
  }
  std::ranges::stable_sort(sorted, [](const PlottedResult* first, const PlottedResult* second) {
    return first_time(*first) > first_time(*second);
  });
  return sorted;
}

// Every so many-th of the rounds sorted by their times: they keep the shape of the distribution.
std::vector<Nanoseconds> some_rounds(const Measurement& measurement) {
  std::vector<Nanoseconds> times;
  for (std::size_t i = first_settled_round(measurement); i < measurement.rounds.size(); ++i) {
    times.push_back(measurement.rounds[i].time());
  }
  if (times.size() <= kRoundsOfLayer) return times;
  std::ranges::sort(times);
  std::vector<Nanoseconds> some;
  for (std::size_t i = 0; i < kRoundsOfLayer; ++i) {
    some.push_back(times[i * (times.size() - 1) / (kRoundsOfLayer - 1)]);
  }
  return some;
}

std::map<std::string, Nanoseconds> totals_of(const std::vector<PlottedResult>& results) {
  std::map<std::string, Nanoseconds> totals;
  for (const PlottedResult& result : results) {
    for (const PlottedMeasurement& plotted : measurements_of(result)) {
      totals[plotted.label] += plotted.measurement.time.median * static_cast<double>(result.entry.count);
    }
  }
  return totals;
}

// "40 of 65 layers are drawn, the slowest; the other 25 take 8.1 % of the time."
std::string what_is_left_out(const std::vector<const PlottedResult*>& sorted,
                             const std::map<std::string, Nanoseconds>& totals) {
  std::map<std::string, Nanoseconds> left;
  for (const PlottedResult* result : std::span(sorted).subspan(kMostLayers)) {
    for (const PlottedMeasurement& plotted : measurements_of(*result)) {
      left[plotted.label] += plotted.measurement.time.median * static_cast<double>(result->entry.count);
    }
  }
  std::string shares;
  for (const auto& [label, time] : left) {
    shares += (shares.empty() ? "" : ", ") + percent_text(time / totals.at(label));
    if (left.size() > 1) shares += " (" + label + ")";
  }
  return fmt::format("{} of {} layers are drawn, the slowest; the other {} take {} of the time.", kMostLayers,
                     sorted.size(), sorted.size() - kMostLayers, shares);
}

void add_layer(const PlottedResult& result, const std::map<std::string, Nanoseconds>& totals,
               const TimeUnit& unit, LayerRows& rows) {
  const double count = static_cast<double>(result.entry.count);
  rows.order.push_back(result.name);
  for (const PlottedMeasurement& plotted : measurements_of(result)) {
    const TimeEstimate& time = plotted.measurement.time;
    const double share = time.median * count / totals.at(plotted.label);
    rows.bars.push_back(Json{{"layer", result.name},
                             {"operation", to_string(result.entry.result.subject)},
                             {"conditions", plotted.label},
                             {"total", unit.of(time.median * count)},
                             {"share", rounded(share)},
                             {"share_shown", percent_text(share)},
                             {"calls", result.entry.count},
                             {"call", time_text(time.median, time.precision())}});
    const TimeUnit of_one = unit_for(time.median);
    for (const Nanoseconds round : some_rounds(plotted.measurement)) {
      rows.rounds.push_back(Json{{"layer", result.name},
                                 {"conditions", plotted.label},
                                 {"time", rounded(round.value() / 1e3)},
                                 {"shown", time_text(round, 1e-3)}});
    }
  }
  if (result.entry.recorded_time) {
    rows.recorded.push_back(
        Json{{"layer", result.name}, {"total", unit.of(*result.entry.recorded_time * count)}});
  }
}

// A share stands to the right of its layer's bars and ticks.
void place_shares(LayerRows& rows) {
  std::map<std::string, double> edges;
  for (const Json* drawn : {&rows.bars, &rows.recorded, &rows.in_place}) {
    for (const Json& row : *drawn) {
      double& edge = edges[row["layer"].get<std::string>()];
      edge = std::max(edge, row["total"].get<double>());
    }
  }
  for (Json& bar : rows.bars) bar["edge"] = edges.at(bar["layer"].get<std::string>());
}

// Fixed, since the ticks of the record have no offset as the bars have.
int rows_height(const LayerRows& rows) {
  const auto layers = static_cast<int>(rows.order.size()), bars = static_cast<int>(rows.bars.size());
  return std::max(60, std::max(18 * layers, 11 * bars));
}

Json bars_view(const LayerRows& rows, const TimeUnit& unit) {
  const Json y = names_axis("layer", rows.order, kLongestLabel);
  const Json x = quantity("total", unit.axis("time of all its calls"));
  Json bars{{"name", "layers"},
            {"data", data_of(rows.bars)},
            {"params", parsed(R"([{"name": "chosen", "select": {"type": "point", "fields": ["layer"]}}])")},
            {"mark", parsed(R"({"type": "bar", "cursor": "pointer"})")},
            {"encoding",
             {{"y", y},
              {"x", x},
              {"yOffset", {{"field", "conditions"}, {"sort", nullptr}}},
              {"color", category("conditions", "",
                                 Json{{"sort", nullptr},
                                      {"title", nullptr},
                                      {"scale", {{"range", {kBlue, kOrange, kGreen, kGrey}}}}})},
              {"opacity", parsed(R"({"condition": {"param": "chosen", "value": 1}, "value": 0.45})")},
              {"tooltip", tooltip({{"layer", "layer"},
                                   {"operation", "operation"},
                                   {"conditions", "conditions"},
                                   {"call", "one call"},
                                   {"calls", "calls"},
                                   {"total", "all calls, " + unit.name},
                                   {"share_shown", "share of the total"}})}}}};
  Json shares{{"name", "shares"},
              {"data", data_of(rows.bars)},
              {"mark", parsed(R"({"type": "text", "align": "left", "dx": 4, "fontSize": 9})")},
              {"encoding",
               {{"y", y},
                {"x", {{"field", "edge"}, {"type", "quantitative"}}},
                {"yOffset", {{"field", "conditions"}, {"sort", nullptr}}},
                {"color", {{"value", kGrey}}},
                {"text", {{"field", "share_shown"}, {"type", "nominal"}}}}}};
  Json layers = Json::array({bars, shares});
  const auto mark = [&](const char* name, const Json& data, std::string_view color, const char* what) {
    if (data.empty()) return;
    layers.push_back(Json{
        {"name", name},
        {"data", data_of(data)},
        {"mark", {{"type", "tick"}, {"color", color}, {"thickness", 3}, {"opacity", 1}}},
        {"encoding",
         {{"y", {{"field", "layer"}, {"type", "nominal"}, {"sort", rows.order}}},
          {"x", {{"field", "total"}, {"type", "quantitative"}}},
          {"tooltip", tooltip({{"layer", "layer"}, {"total", std::string(what) + ", " + unit.name}})}}}});
  };
  mark("recorded", rows.recorded, kRed, "in the record that was read");
  mark("in_place", rows.in_place, kPurple, "in the network");
  return Json{
      {"width", width_beside(rows.order, kLongestLabel)}, {"height", rows_height(rows)}, {"layer", layers}};
}

Json rounds_view(const LayerRows& rows) {
  return Json{
      {"title", {{"text", "Rounds of the layer that was clicked"}, {"subtitle", "none: of the first"}}},
      {"width", width_beside(rows.order, kLongestLabel)},
      {"height", {{"step", 26}}},
      {"data", data_of(rows.rounds)},
      {"name", "chosen_rounds"},
      {"transform", Json::array({parsed(R"({"filter": {"param": "chosen", "empty": false}})")})},
      {"mark", {{"type", "tick"}, {"color", kBlue}, {"opacity", 0.7}}},
      {"encoding",
       {{"x", quantity("time", "time of one call, µs", not_from_zero())},
        {"y", category("conditions", "", parsed(R"({"title": null, "sort": null})"))},
        {"tooltip", tooltip({{"layer", "layer"}, {"conditions", "conditions"}, {"shown", "round"}})}}}};
}

}  // namespace

std::optional<Plot> layers_plot(const RunRecord& record, const std::vector<PlottedResult>& results) {
  const std::vector<const PlottedResult*> sorted = slowest_first(results);
  if (sorted.empty()) return std::nullopt;
  const std::map<std::string, Nanoseconds> totals = totals_of(results);
  const TimeUnit unit = unit_for(first_time(*sorted.front()));
  LayerRows rows;
  for (std::size_t i = 0; i < std::min(sorted.size(), kMostLayers); ++i)
    add_layer(*sorted[i], totals, unit, rows);
  for (const LayerInSequence& layer : layers_in_sequence(record)) {
    const std::string& name = results[layer.result].name;
    if (std::ranges::find(rows.order, name) == rows.order.end()) continue;
    rows.in_place.push_back(
        Json{{"layer", name}, {"total", unit.of(layer.in_place.median * static_cast<double>(layer.calls))}});
  }
  place_shares(rows);
  Json bars = bars_view(rows, unit);
  // Before anybody clicks, the slowest layer is chosen.
  bars["layer"][0]["params"][0]["value"] = Json::array({Json{{"layer", rows.order.front()}}});
  TableColumn layers = text_column("layer"), operations = text_column("operation"),
              conditions = text_column("conditions"), calls = number_column("calls"),
              call = number_column("one call"), total = number_column(unit.axis("all calls")),
              shares = number_column("share");
  for (const Json& row : rows.bars) {
    layers.cells.push_back(row["layer"].get<std::string>());
    operations.cells.push_back(row["operation"].get<std::string>());
    conditions.cells.push_back(row["conditions"].get<std::string>());
    calls.cells.push_back(std::to_string(row["calls"].get<std::int64_t>()));
    call.cells.push_back(row["call"].get<std::string>());
    total.cells.push_back(cell(row["total"].get<double>()));
    shares.cells.push_back(percent_text(row["share"].get<double>()));
  }
  std::string caption =
      "Bars: the time of one call alone, times the calls, with its share of the total. Click one for its rounds.";
  if (!rows.recorded.empty()) caption += " Red: in the record that was read.";
  if (!rows.in_place.empty()) caption += " Purple: where it runs, in the network.";
  if (sorted.size() > kMostLayers) {
    caption += " " + what_is_left_out(sorted, totals);
  }
  Json view = bars;
  view["title"] = record.title;
  return Plot{.id = "layers",
              .title = "Layers by their time" + (record.title.empty() ? std::string() : ": " + record.title),
              .caption = std::move(caption),
              .spec = stacked_plots(Json::array({view, rounds_view(rows)})),
              .table = {layers, operations, conditions, calls, call, total, shares}};
}

}  // namespace jitterscope::report
