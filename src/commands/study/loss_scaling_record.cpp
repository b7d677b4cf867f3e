#include "commands/study/loss_scaling_record.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/names.hpp"
#include "base/quantity_text.hpp"
#include "output/text.hpp"
#include "record/envelope.hpp"
#include "record/json_text.hpp"
#include "record/values.hpp"
#include "report/drawing.hpp"

namespace jitterscope {

template <class Fields>
void describe(Fields& fields, Described<Fields, study::LayerGradients>& layer) {
  fields("name", layer.name);
  fields("underflow", layer.underflow);
  fields("overflow", layer.overflow);
}

template <class Fields>
void describe(Fields& fields, Described<Fields, study::LossScalingArm>& arm) {
  fields("name", arm.name);
  fields("skipped", arm.skipped);
  fields("underflow", arm.underflow);
  fields("overflow", arm.overflow);
  fields("loss", arm.loss);
  fields("step_seconds", arm.step);
  fields("scale", arm.scale);
  fields("layers", arm.layers);
}

template <class Fields>
void describe_content(Fields& fields, Described<Fields, study::LossScalingRecord>& record) {
  auto& found = record.found;
  fields("model", found.model);
  fields("way", found.way);
  fields("steps", found.steps);
  fields("float32_loss", found.float32_loss);
  fields("float32_step_seconds", found.float32_step);
  fields("arms", found.arms);
  fields.check(!found.arms.empty(), "arms", "one scale or more");
  fields("answers", found.answers);
}

std::string write_record(const study::LossScalingRecord& record) {
  return write_envelope("loss-scaling", record);
}

Text record_text(const study::LossScalingRecord& record, const ShownPage& shown) {
  return loss_scaling_table(record, page_of(shown, false));
}

Headline headline_of(const study::LossScalingRecord& record) {
  const study::LossScaling& found = record.found;
  const auto loss_of = [](const study::LossScalingArm& arm) {
    return arm.loss.value_or(std::numeric_limits<double>::infinity());
  };
  const auto best = std::ranges::min_element(found.arms, {}, loss_of);
  Headline headline{.subject = found.model + " in half precision: every loss is not finite",
                    .marks = {counted(found.steps, "step"), found.way}};
  if (best != found.arms.end() && best->loss) {
    headline.subject =
        fmt::format("{} in half precision: the smallest loss, by the scale {}", found.model, best->name);
    headline.number = fmt::format("{:.4g}", *best->loss);
    if (found.float32_loss) headline.error = fmt::format("float32: {:.4g}", *found.float32_loss);
  }
  return headline;
}

void read_fields(const Json& document, const std::string& name, study::LossScalingRecord& record) {
  record = read_envelope<study::LossScalingRecord>(document, name);
}

namespace {

using study::LayerGradients;
using study::LossScaling;
using study::LossScalingArm;

std::string loss_text(const std::optional<double>& loss) {
  return loss ? fmt::format("{:.4g}", *loss) : "not finite";
}

double lost(const LayerGradients& layer) { return layer.underflow + layer.overflow; }

// Returns "layer4.0.conv1 (12 %)".
std::string most_lost_in(const LossScalingArm& arm) {
  const auto worst = std::ranges::max_element(arm.layers, {}, lost);
  if (worst == arm.layers.end() || lost(*worst) <= 0.0) return std::string(kAbsent);
  return fmt::format("{} ({})", one_line(worst->name), percent_text(lost(*worst)));
}

Text scales_table(const LossScaling& found, std::size_t width) {
  TableColumn scales{"scale", Align::left, {}}, underflows{"underflow", Align::right, {}},
      overflows{"overflow", Align::right, {}, 1}, skipped{"steps skipped", Align::right, {}, 3},
      losses{"loss", Align::right, {}, 2}, steps{"step", Align::right, {}, 4},
      worst{"most lost in", Align::left, {}, 5}, ends{"scale at the end", Align::right, {}, 6};
  const auto add = [&](const std::string& name, const LossScalingArm* arm, const std::optional<double>& loss,
                       Nanoseconds step) {
    scales.cells.push_back(one_line(name));
    underflows.cells.push_back(arm ? percent_text(arm->underflow) : std::string(kAbsent));
    overflows.cells.push_back(arm ? percent_text(arm->overflow) : std::string(kAbsent));
    skipped.cells.push_back(arm ? std::to_string(arm->skipped) : std::string(kAbsent));
    losses.cells.push_back(loss_text(loss));
    steps.cells.push_back(duration_text(step));
    worst.cells.push_back(arm ? most_lost_in(*arm) : std::string(kAbsent));
    ends.cells.push_back(arm ? fmt::format("{:g}", arm->scale) : std::string(kAbsent));
  };
  add("float32", nullptr, found.float32_loss, found.float32_step);
  for (const LossScalingArm& arm : found.arms) add(arm.name, &arm, arm.loss, arm.step);
  return fitted_table({scales, underflows, overflows, skipped, losses, steps, worst, ends}, width);
}

Text layers_section(const LossScaling& found, std::size_t width) {
  if (found.arms.empty()) return {};
  TableColumn layers{"layer", Align::left, {}};
  for (const LayerGradients& layer : found.arms.front().layers) layers.cells.push_back(one_line(layer.name));
  std::vector<TableColumn> columns;
  for (const LossScalingArm& arm : found.arms) {
    TableColumn& column = columns.emplace_back(TableColumn{one_line(arm.name), Align::right, {}});
    for (const LayerGradients& layer : found.arms.front().layers) {
      const auto own = std::ranges::find(arm.layers, layer.name, &LayerGradients::name);
      column.cells.push_back(own == arm.layers.end() ? std::string(kAbsent) : percent_text(lost(*own)));
    }
  }
  return "Lost by underflow or overflow, of each layer's gradient:\n\n" +
         split_tables({layers}, columns, width);
}

}  // namespace

Text loss_scaling_table(const study::LossScalingRecord& record, const Page& page) {
  const LossScaling& found = record.found;
  Text answers = std::string(study::kLossScaling.question) + "\n\n";
  for (const std::string& answer : found.answers) answers += wrapped(one_line(answer), page.width);
  std::vector<std::string> facts = {one_line(found.model), counted(found.steps, "step")};
  facts.push_back(one_line(found.way));
  if (!record.device.name.empty()) facts.push_back(one_line(record.device.name));
  std::vector<Text> parts = {answers, wrapped(joined(facts), page.width), scales_table(found, page.width)};
  if (page.details) parts.push_back(layers_section(found, page.width));
  parts.push_back(
      wrapped("underflow, overflow: share of all gradients that are zero but not in float32, or not finite. "
              "loss: mean of the last ten steps.",
              page.width));
  return sections(parts);
}

}  // namespace jitterscope

// Plots what each scale does to training in half precision: lost gradients, and the loss.

namespace jitterscope::report {
namespace {

using study::LossScaling;
using study::LossScalingArm;

constexpr int kLongestScale = 200;  // in pixels

Json lost_view(const LossScaling& found, const std::vector<std::string>& scales, int width) {
  Json rows = Json::array();
  for (std::size_t i = 0; i < scales.size(); ++i) {
    const LossScalingArm& arm = found.arms[i];
    for (const auto& [how, share] : {std::pair("underflow", arm.underflow), {"overflow", arm.overflow}}) {
      rows.push_back(Json{{"scale", scales[i]}, {"how", how}, {"share", rounded(share * 100.0)}});
    }
  }
  return filled(R"({
    "width": "$width", "height": "$height", "data": "$rows", "name": "lost", "mark": {"type": "bar"},
    "encoding": {
      "y": "$y", "x": {"field": "share:Q", "title": "gradients that are lost, %"},
      "color": {"field": "how:N", "title": null, "scale": {"domain": ["underflow", "overflow"], "range": ["$blue", "$red"]}},
      "tooltip": [["scale", "scale"], ["how", "by"], ["share", "share, %"]]}
  })",
                "width", width, "height", height_of(scales, 26), "rows", rows, "y",
                names_axis("scale", scales, kLongestScale));
}

std::optional<Json> losses_view(const LossScaling& found, const std::vector<std::string>& scales, int width) {
  Json rows = Json::array(), float32 = Json::array();
  for (std::size_t i = 0; i < scales.size(); ++i) {
    const LossScalingArm& arm = found.arms[i];
    if (!arm.loss) continue;
    rows.push_back(Json{{"scale", scales[i]},
                        {"loss", rounded(*arm.loss)},
                        {"skipped", arm.skipped},
                        {"step", duration_text(arm.step)}});
  }
  if (rows.empty()) return std::nullopt;
  if (found.float32_loss) float32.push_back(Json{{"loss", rounded(*found.float32_loss)}});
  Json y = names_axis("scale", scales, kLongestScale);
  y["scale"] = Json{{"domain", scales}};  // includes scales without a loss, as in the view above
  return filled(
      R"({
    "width": "$width", "height": "$height",
    "layer": [
      {"name": "float32", "data": "$float", "mark": {"type": "rule", "color": "$green", "size": 2},
       "encoding": {"x": "$x", "tooltip": [["loss", "in float32"]]}},
      {"name": "losses", "data": "$rows", "mark": {"type": "point", "filled": true, "size": 60, "color": "$blue", "opacity": 1},
       "encoding": {"y": "$y", "x": "$x",
                    "tooltip": [["scale", "scale"], ["loss", "loss"], ["skipped", "steps skipped"], ["step", "one step"]]}}
    ]
  })",
      "width", width, "height", height_of(scales, 26), "float", float32, "rows", rows, "y", y, "x",
      filled(
          R"({"field": "loss:Q", "title": "loss, mean of the last ten steps", "scale": {"zero": false}})"));
}

}  // namespace

std::vector<Plot> plots_of(const study::LossScalingRecord& record) {
  const LossScaling& found = record.found;
  if (found.arms.empty()) return {};
  std::vector<std::string> scales;
  std::vector<TableColumn> table =
      columns_of({"scale", ">underflow", ">overflow", ">steps skipped", ">loss", ">one step"});
  for (const LossScalingArm& arm : found.arms) {
    scales.push_back(one_line(arm.name));
    add_row(table,
            {arm.name, percent_text(arm.underflow), percent_text(arm.overflow), std::to_string(arm.skipped),
             arm.loss ? cell(*arm.loss) : "not finite", duration_text(arm.step)});
  }
  const int width = width_beside(scales, kLongestScale);
  Json views = Json::array({lost_view(found, scales, width)});
  if (std::optional<Json> view = losses_view(found, scales, width)) views.push_back(*std::move(view));
  return {
      Plot{.id = "scales",
           .title = "Effect of each loss scale: " + one_line(found.model),
           .caption =
               "Above: the share of all gradients that underflow (zero, but not zero in float32) or overflow "
               "(not finite). Below: the loss if it is finite; green: in float32.",
           .spec = stacked_plots(std::move(views)),
           .table = std::move(table)}};
}

}  // namespace jitterscope::report
