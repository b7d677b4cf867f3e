#include "commands/verify_pytorch/record.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "base/names.hpp"
#include "base/quantity_text.hpp"
#include "commands/run/table.hpp"
#include "output/cells.hpp"
#include "output/text.hpp"
#include "record/describe_run.hpp"
#include "record/envelope.hpp"
#include "report/drawing.hpp"

namespace jitterscope {

std::string_view to_string(Verdict verdict) {
  switch (verdict) {
    case Verdict::equal: return "equal";
    case Verdict::differs: return "differs";
    case Verdict::unknown: return "unknown";
  }
  return "";
}
constexpr auto enumerators(Verdict) { return std::array{Verdict::equal, Verdict::differs, Verdict::unknown}; }

inline ComparedLayer blank(std::type_identity<ComparedLayer>) {
  return {.reference = {.operation = Operation{Spin{}}, .name = {}, .engine = {}, .kernels = {}, .time = {}},
          .here = {},
          .time_ratio = {}};
}

template <class Fields>
void describe(Fields& fields, Described<Fields, ComparedLayer>& layer) {
  auto& reference = layer.reference;
  fields("operation", reference.operation);
  fields("name", reference.name);
  fields("count", reference.count);
  fields.derived("provider", layer.here.provider);
  fields("engine", layer.engine);
  fields("pytorch_engine", reference.engine);
  fields.derived("engine_here", layer.here.algorithm);
  fields("kernels", layer.kernels);
  fields("pytorch_kernels", reference.kernels);
  fields.derived("kernels_here", layer.here.kernels);
  fields("pytorch_seconds", reference.time);
  fields("time_ratio", layer.time_ratio);
  fields.derived("failure", layer.here.failure);
  fields("here", layer.here);
}

template <class Fields>
void describe_content(Fields& fields, Described<Fields, PytorchRecord>& record) {
  auto& comparison = record.comparison;
  fields("model", comparison.model);
  fields("torch", comparison.torch);
  fields("pytorch_cudnn", comparison.cudnn);
  fields.derived("equal", comparison.is_equal());
  fields("recorded_gpu_seconds", comparison.recorded_gpu_time);
  fields("without_plans", comparison.without_plans);
  fields("layers", comparison.layers);
  fields("not_compared", comparison.not_compared);
}

std::string write_record(const PytorchRecord& record) { return write_envelope("verify-pytorch", record); }

namespace {

template <class Member>
std::string count_of(const std::vector<ComparedLayer>& layers, Member member) {
  const auto unknown = std::ranges::count(layers, Verdict::unknown, member);
  const auto equal = std::ranges::count(layers, Verdict::equal, member);
  return fmt::format("{} of {}{}", equal, std::ssize(layers) - unknown,
                     unknown > 0 ? fmt::format(", {} unknown", unknown) : "");
}

}  // namespace

Text record_text(const PytorchRecord& record, const ShownPage& shown) {
  return pytorch_table(record, shown.width);
}

Headline headline_of(const PytorchRecord& record) {
  const PytorchComparison& comparison = record.comparison;
  Headline headline{
      .subject = fmt::format("{}: layers that run the kernels that PyTorch runs", comparison.model),
      .number = count_of(comparison.layers, &ComparedLayer::kernels)};
  if (!comparison.torch.empty()) headline.marks.push_back("PyTorch " + comparison.torch);
  if (!comparison.cudnn.empty()) headline.marks.push_back("cuDNN " + comparison.cudnn);
  return headline;
}

void read_fields(const Json& document, const std::string& name, PytorchRecord& record) {
  record = read_envelope<PytorchRecord>(document, name);
}

namespace {

std::string_view verdict_text(Verdict verdict) {
  switch (verdict) {
    case Verdict::equal: return "equal";
    case Verdict::differs: return "DIFFERS";
    case Verdict::unknown: break;
  }
  return kAbsent;
}

Text layers_table(const std::vector<ComparedLayer>& layers, std::size_t width) {
  std::array<TableColumn, 8> columns = {{{"#", Align::right, {}},
                                         {"layer", Align::left, {}},
                                         {"run by", Align::left, {}, 4},
                                         {"engine", Align::left, {}, 1},
                                         {"kernels", Align::left, {}, 1},
                                         {"PyTorch", Align::right, {}, 3},
                                         {"here", Align::right, {}, 2},
                                         {"change", Align::right, {}}}};
  for (const ComparedLayer& layer : layers) {
    const ReferenceLayer& reference = layer.reference;
    const bool failed = !layer.here.failure.empty();
    const std::array<std::string, 8> cells = {
        std::to_string(columns[0].cells.size() + 1),
        fmt::format("{} ×{}", one_line(reference.operation.text()), reference.count),
        failed ? "failed" : one_line(layer.here.provider),
        std::string(verdict_text(layer.engine)),
        std::string(verdict_text(layer.kernels)),
        reference.time ? time_text(*reference.time) : std::string(kAbsent),
        layer.here.kernels.empty() ? std::string(kAbsent) : time_text(time_here(layer)),
        layer.time_ratio ? change_text(*layer.time_ratio - 1.0) : std::string(kAbsent)};
    for (std::size_t i = 0; i < cells.size(); ++i) columns[i].cells.push_back(cells[i]);
  }
  return fitted_table({columns.begin(), columns.end()}, width);
}

Text differences(const std::vector<ComparedLayer>& layers, std::size_t width) {
  Text text;
  const auto add = [&](std::size_t row, const std::string& what) {
    text += list_item(fmt::format("#{} {}", row + 1, what), width);
  };
  const auto list = [](const auto& names) {
    std::vector<std::string> all;
    for (const std::string& name : names) all.push_back(cut_to_width(one_line(name), 100));
    return joined(all, " + ");
  };
  for (std::size_t row = 0; row < layers.size(); ++row) {
    const ComparedLayer& layer = layers[row];
    if (!layer.here.failure.empty()) add(row, "failed here: " + one_line(layer.here.failure));
    if (layer.engine == Verdict::differs) {
      add(row, fmt::format("engine: PyTorch {}, here {}", layer.reference.engine, layer.here.algorithm));
    }
    if (layer.kernels != Verdict::differs) continue;
    std::vector<std::string> ours;
    for (const LaunchKernel& kernel : layer.here.kernels) ours.push_back(kernel.name);
    add(row, fmt::format("kernels: PyTorch {}; here {}", list(layer.reference.kernels), list(ours)));
  }
  return text.empty() ? text : "Differences:\n\n" + text;
}

Text summary(const PytorchComparison& comparison, std::size_t width) {
  std::string text = fmt::format("Equal engines: {}. Equal kernels: {}.",
                                 count_of(comparison.layers, &ComparedLayer::engine),
                                 count_of(comparison.layers, &ComparedLayer::kernels));
  if (const std::optional<TimeRatios> ratios = comparison.time_ratios()) {
    const auto without = std::ranges::count_if(comparison.layers,
                                               [](const ComparedLayer& layer) { return !layer.time_ratio; });
    text += fmt::format(
        " Times here, warm and back to back, against PyTorch's in training: median {}, from {} to {}{}.",
        change_text(ratios->median - 1.0), change_text(ratios->least - 1.0), change_text(ratios->most - 1.0),
        without > 0 ? fmt::format(", {} without", counted(without, "layer")) : "");
  }
  return wrapped(text, width);
}

}  // namespace

Text pytorch_table(const PytorchRecord& record, std::size_t width) {
  const PytorchComparison& comparison = record.comparison;
  std::string heading = fmt::format("**{}** as PyTorch", one_line(comparison.model));
  if (!comparison.torch.empty()) heading += " " + comparison.torch;
  if (!comparison.cudnn.empty()) heading += fmt::format(" (cuDNN {})", comparison.cudnn);
  heading += fmt::format(" ran it in training, and as jitterscope runs it on {} ({}).",
                         one_line(record.device.name), record.device.id);
  Text text = wrapped(heading, width) + '\n' + layers_table(comparison.layers, width) + '\n' +
              summary(comparison, width);
  if (!comparison.without_plans.empty()) {
    text += wrapped(fmt::format("PyTorch's engines are not known: {}.", one_line(comparison.without_plans)),
                    width);
  }
  const Text differing = differences(comparison.layers, width);
  if (!differing.empty()) text += '\n' + differing;
  const Text others = untimed_text(comparison.not_compared, comparison.recorded_gpu_time, width);
  if (!others.empty()) text += '\n' + others;
  if (comparison.interrupted) text += "\nInterrupted: these are the results so far.\n";
  return text;
}

}  // namespace jitterscope

// Plots a network's layers as jitterscope runs them, against their times in PyTorch's training.

namespace jitterscope::report {
namespace {

constexpr int kLongestLayer = 430;  // in pixels

struct TimedLayer {
  std::string name;
  const ComparedLayer* layer;
  Nanoseconds there, here;  ///< times of one call
};

// Returns the layers that have both times, numbered as in the page's table of all layers.
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

// Uses a wide scale, so that a layer that takes ten times as long does not hide a percent of the others.
Json scale_of(const Json& rows) {
  constexpr double kWide = 60.0;
  const bool is_wide = std::ranges::any_of(
      rows, [](const Json& row) { return std::abs(row["change"].get<double>()) > kWide; });
  if (!is_wide) return Json::object();
  return filled(R"({"scale": {"type": "symlog", "constant": 10},
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
  Nanoseconds all_there, all_here;  // weighted by the network's calls
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
  Json x = filled(R"({"field": "change:Q", "title": "time here against PyTorch's, %"})");
  x.update(scale_of(rows));
  // The names of the axis leave no room for a legend in one row.
  return filled(R"({
    "height": "$height",
    "layer": [
      {"data": [{"change": 0}], "mark": {"type": "rule", "color": "$grey"}, "encoding": {"x": "change:Q"}},
      {"name": "ratios", "data": "$rows", "mark": {"type": "point", "filled": true, "size": 60, "opacity": 1},
       "encoding": {
         "y": "$y", "x": "$x",
         "color": {"field": "likeness:N", "title": null, "legend": {"columns": 2},
                   "scale": {"domain": ["the same kernels", "other kernels", "not known", "all together"],
                             "range": ["$blue", "$red", "$grey", "$purple"]}},
         "tooltip": [["layer", "layer"], ["change", "here against PyTorch, %"], ["there", "PyTorch"], ["here", "here"],
                     ["calls", "calls"], ["likeness", "kernels"]]}}
    ]
  })",
                "height", height_of(names, 20), "rows", rows, "y", names_axis("layer", names, kLongestLayer),
                "x", x);
}

std::vector<TableColumn> pytorch_columns(const std::vector<TimedLayer>& layers) {
  std::vector<TableColumn> table = columns_of({"layer", ">calls", ">PyTorch", ">here", ">ratio", "kernels"});
  for (const TimedLayer& layer : layers) {
    add_row(table, {layer.name, std::to_string(layer.layer->reference.count), time_text(layer.there, 1e-3),
                    time_text(layer.here, 1e-3), fmt::format("{:.3f}", *layer.layer->time_ratio),
                    likeness(*layer.layer)});
  }
  return table;
}

}  // namespace

std::vector<Plot> plots_of(const PytorchRecord& record) {
  const std::vector<TimedLayer> layers = timed_layers(record.comparison);
  if (layers.empty()) return {};
  std::string caption =
      "Time of the kernels of one call here, warm and back to back, against the mean of PyTorch's calls "
      "in training, where the cache holds other layers' data. Left of zero is faster here.";
  const std::size_t others = record.comparison.layers.size() - layers.size();
  if (others > 0) {
    caption += fmt::format(" {} without both times; the text above says why.",
                           counted(static_cast<std::int64_t>(others), "layer"));
  }
  return {Plot{.id = "pytorch",
               .title = "Here and in PyTorch: " + one_line(record.comparison.model),
               .caption = std::move(caption),
               .spec = single_plot(ratios_view(layers)),
               .table = pytorch_columns(layers)}};
}

}  // namespace jitterscope::report
