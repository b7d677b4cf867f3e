// A network's layers as jitterscope runs them, against the times that PyTorch had in training.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/quantity_text.hpp"
#include "output/display_text.hpp"
#include "output/operation_label.hpp"
#include "report/drawing.hpp"
#include "report/plots/record_plots.hpp"

namespace jitterscope::report {
namespace {

constexpr int kLongestLayer = 430;  // pixels

struct TimedLayer {
  std::string name;
  const ComparedLayer* layer;
  Nanoseconds there, here;  ///< of one call
};

// Those with both times, numbered as the table on the page numbers all.
std::vector<TimedLayer> timed_layers(const PytorchComparison& comparison) {
  std::vector<std::string> operations;
  for (const ComparedLayer& layer : comparison.layers) operations.push_back(layer.reference.operation.text());
  const std::vector<std::string> labels =
      operations.size() > 1 ? label_operations(operations).labels : operations;
  std::vector<TimedLayer> layers;
  for (std::size_t i = 0; i < comparison.layers.size(); ++i) {
    const ComparedLayer& layer = comparison.layers[i];
    if (!layer.time_ratio || !layer.reference.time) continue;
    layers.push_back(
        {fmt::format("#{} {}", i + 1, one_line(labels[i])), &layer, *layer.reference.time, time_here(layer)});
  }
  return layers;
}

std::string_view likeness(const ComparedLayer& layer) {
  if (layer.engine == Verdict::differs || layer.kernels == Verdict::differs) return "other kernels";
  const bool is_known = layer.engine == Verdict::equal || layer.kernels == Verdict::equal;
  return is_known ? "the same kernels" : "not known";
}

Json likeness_color() {
  return category("likeness", "",
                  Json{{"title", nullptr},
                       {"legend", {{"columns", 2}}},  // the axis' names leave no room for all in a row
                       {"scale",
                        {{"domain", {"the same kernels", "other kernels", "not known", "all together"}},
                         {"range", {kBlue, kRed, kGrey, kPurple}}}}});
}

// A layer that takes ten times as long must not hide a percent of the others.
Json scale_of(const Json& rows) {
  constexpr double kWide = 60.0;
  const bool is_wide = std::ranges::any_of(
      rows, [](const Json& row) { return std::abs(row["change"].get<double>()) > kWide; });
  if (!is_wide) return Json::object();
  return parsed(R"({"scale": {"type": "symlog", "constant": 10},
    "axis": {"values": [-95, -80, -50, -20, -10, 0, 10, 20, 50, 100, 200, 500, 1000, 5000], "labelOverlap": "greedy"}})");
}

Json ratios_view(const std::vector<TimedLayer>& layers) {
  Json rows = Json::array();
  std::vector<std::string> names;
  const auto add = [&](const std::string& name, double ratio, std::string_view kernels,
                       const std::string& there, const std::string& here, std::int64_t calls) {
    names.push_back(name);
    rows.push_back(Json{{"layer", name},
                        {"change", percent_change(ratio)},
                        {"likeness", kernels},
                        {"there", there},
                        {"here", here},
                        {"calls", calls}});
  };
  Nanoseconds all_there, all_here;  // as often as the network runs each
  std::int64_t all_calls = 0;
  for (const TimedLayer& layer : layers) {
    const std::int64_t calls = layer.layer->reference.count;
    all_there += layer.there * static_cast<double>(calls);
    all_here += layer.here * static_cast<double>(calls);
    all_calls += calls;
  }
  if (all_there > Nanoseconds(0) && layers.size() > 1) {
    add("all together", all_here / all_there, "all together", time_text(all_there, 1e-3),
        time_text(all_here, 1e-3), all_calls);
  }
  for (const TimedLayer& layer : layers) {
    add(layer.name, *layer.layer->time_ratio, likeness(*layer.layer), time_text(layer.there, 1e-3),
        time_text(layer.here, 1e-3), layer.layer->reference.count);
  }
  Json zero{{"data", data_of(Json::array({Json{{"change", 0}}}))},
            {"mark", {{"type", "rule"}, {"color", kGrey}}},
            {"encoding", {{"x", {{"field", "change"}, {"type", "quantitative"}}}}}};
  Json points{{"name", "ratios"},
              {"data", data_of(rows)},
              {"mark", {{"type", "point"}, {"filled", true}, {"size", 60}, {"opacity", 1}}},
              {"encoding",
               {{"y", names_axis("layer", names, kLongestLayer)},
                {"x", quantity("change", "time here against PyTorch's, %", scale_of(rows))},
                {"color", likeness_color()},
                {"tooltip", tooltip({{"layer", "layer"},
                                     {"change", "here against PyTorch, %"},
                                     {"there", "PyTorch"},
                                     {"here", "here"},
                                     {"calls", "calls"},
                                     {"likeness", "kernels"}})}}}};
  return Json{{"height", height_of(names, 20)}, {"layer", {zero, points}}};
}

std::vector<TableColumn> pytorch_columns(const std::vector<TimedLayer>& layers) {
  TableColumn names = text_column("layer"), calls = number_column("calls"), there = number_column("PyTorch"),
              here = number_column("here"), ratios = number_column("ratio"), kernels = text_column("kernels");
  for (const TimedLayer& layer : layers) {
    names.cells.push_back(layer.name);
    calls.cells.push_back(std::to_string(layer.layer->reference.count));
    there.cells.push_back(time_text(layer.there, 1e-3));
    here.cells.push_back(time_text(layer.here, 1e-3));
    ratios.cells.push_back(fmt::format("{:.3f}", *layer.layer->time_ratio));
    kernels.cells.emplace_back(likeness(*layer.layer));
  }
  return {names, calls, there, here, ratios, kernels};
}

}  // namespace

std::vector<Plot> pytorch_plots(const PytorchRecord& record) {
  const std::vector<TimedLayer> layers = timed_layers(record.comparison);
  if (layers.empty()) return {};
  std::string caption =
      "The kernels of one call here, warm and back to back, against the mean over PyTorch's calls in training, where "
      "other layers' data lies in the cache; left of zero is faster here.";
  const std::size_t others = record.comparison.layers.size() - layers.size();
  if (others > 0) {
    caption += fmt::format(" {} without both times: the text above says why.",
                           counted(static_cast<std::int64_t>(others), "layer"));
  }
  return {Plot{.id = "pytorch",
               .title = "Here and in PyTorch: " + one_line(record.comparison.model),
               .caption = std::move(caption),
               .spec = single_plot(ratios_view(layers)),
               .table = pytorch_columns(layers)}};
}

}  // namespace jitterscope::report
