#include "output/loss_scaling_table.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/names.hpp"
#include "base/quantity_text.hpp"
#include "output/display_text.hpp"
#include "output/table.hpp"

namespace jitterscope {
namespace {

using study::LayerGradients;
using study::LossScaling;
using study::LossScalingArm;

std::string loss_text(const std::optional<double>& loss) {
  return loss ? fmt::format("{:.4g}", *loss) : "not finite";
}

double lost(const LayerGradients& layer) { return layer.underflow + layer.overflow; }

// "layer4.0.conv1 (12 %)"
std::string most_lost_in(const LossScalingArm& arm) {
  const auto worst = std::ranges::max_element(arm.layers, {}, lost);
  if (worst == arm.layers.end() || lost(*worst) <= 0.0) return std::string(kAbsent);
  return fmt::format("{} ({})", one_line(worst->name), percent_text(lost(*worst)));
}

std::string scales_table(const LossScaling& found, std::size_t width) {
  TableColumn scales{"scale", Align::left, {}}, underflows{"underflow", Align::right, {}},
      overflows{"overflow", Align::right, {}}, skipped{"steps skipped", Align::right, {}},
      losses{"loss", Align::right, {}}, steps{"step", Align::right, {}},
      worst{"most lost in", Align::left, {}, 1}, ends{"scale at the end", Align::right, {}, 2};
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

std::string layers_section(const LossScaling& found, std::size_t width) {
  if (found.arms.empty()) return {};
  TableColumn layers{"layer", Align::left, {}};
  for (const LayerGradients& layer : found.arms.front().layers) layers.cells.push_back(one_line(layer.name));
  std::vector<TableColumn> columns = {layers};
  for (const LossScalingArm& arm : found.arms) {
    TableColumn& column = columns.emplace_back(TableColumn{one_line(arm.name), Align::right, {}});
    for (const LayerGradients& layer : found.arms.front().layers) {
      const auto own = std::ranges::find(arm.layers, layer.name, &LayerGradients::name);
      column.cells.push_back(own == arm.layers.end() ? std::string(kAbsent) : percent_text(lost(*own)));
    }
  }
  return "Of each layer's gradient is lost, by underflow or overflow:\n\n" + fitted_table(columns, width);
}

}  // namespace

std::string loss_scaling_table(const study::LossScalingRecord& record, const Page& page) {
  const LossScaling& found = record.found;
  std::string answers = std::string(study::kLossScaling.question) + "\n\n";
  for (const std::string& answer : found.answers) answers += wrapped(one_line(answer), page.width);
  std::vector<std::string> facts = {one_line(found.model), counted(found.steps, "step")};
  facts.push_back(one_line(found.way));
  if (!record.device.name.empty()) facts.push_back(one_line(record.device.name));
  std::vector<std::string> sections = {answers, wrapped(joined(facts), page.width),
                                       scales_table(found, page.width)};
  if (page.details) sections.push_back(layers_section(found, page.width));
  sections.push_back(wrapped(
      "underflow, overflow: share of all gradients that is zero and is not in float32, or not finite. loss: "
      "mean of the last ten steps.",
      page.width));
  std::erase(sections, std::string());
  return joined(sections, "\n");
}

}  // namespace jitterscope
