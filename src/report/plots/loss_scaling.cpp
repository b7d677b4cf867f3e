// What each scale of the loss does to training in half precision: the gradients that it loses, and the loss.
#include <fmt/format.h>

#include "base/quantity_text.hpp"
#include "output/display_text.hpp"
#include "report/drawing.hpp"
#include "report/plots/record_plots.hpp"

namespace jitterscope::report {
namespace {

using study::LossScaling;
using study::LossScalingArm;

constexpr int kLongestScale = 200;  // pixels

Json lost_view(const LossScaling& found, const std::vector<std::string>& scales, int width) {
  Json rows = Json::array();
  for (std::size_t i = 0; i < scales.size(); ++i) {
    const LossScalingArm& arm = found.arms[i];
    for (const auto& [how, share] : {std::pair("underflow", arm.underflow), {"overflow", arm.overflow}}) {
      rows.push_back(Json{{"scale", scales[i]}, {"how", how}, {"share", rounded(share * 100.0)}});
    }
  }
  return Json{
      {"width", width},
      {"height", height_of(scales, 26)},
      {"data", data_of(rows)},
      {"name", "lost"},
      {"mark", {{"type", "bar"}}},
      {"encoding",
       {{"y", names_axis("scale", scales, kLongestScale)},
        {"x", quantity("share", "gradients that are lost, %")},
        {"color",
         category("how", "",
                  Json{{"title", nullptr},
                       {"scale", {{"domain", {"underflow", "overflow"}}, {"range", {kBlue, kRed}}}}})},
        {"tooltip", tooltip({{"scale", "scale"}, {"how", "by"}, {"share", "share, %"}})}}}};
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
  y["scale"] = Json{{"domain", scales}};  // those without a loss as well, as above
  const char* mean = "loss, mean of the last ten steps";
  Json line{
      {"name", "float32"},
      {"data", data_of(float32)},
      {"mark", {{"type", "rule"}, {"color", kGreen}, {"size", 2}}},
      {"encoding",
       {{"x", quantity("loss", mean, not_from_zero())}, {"tooltip", tooltip({{"loss", "in float32"}})}}}};
  Json points{
      {"name", "losses"},
      {"data", data_of(rows)},
      {"mark", {{"type", "point"}, {"filled", true}, {"size", 60}, {"color", kBlue}, {"opacity", 1}}},
      {"encoding",
       {{"y", y},
        {"x", quantity("loss", mean, not_from_zero())},
        {"tooltip",
         tooltip(
             {{"scale", "scale"}, {"loss", "loss"}, {"skipped", "steps skipped"}, {"step", "one step"}})}}}};
  Json layers = Json::array();
  if (!float32.empty()) layers.push_back(line);
  layers.push_back(points);
  return Json{{"width", width}, {"height", height_of(scales, 26)}, {"layer", layers}};
}

}  // namespace

std::vector<Plot> loss_scaling_plots(const study::LossScalingRecord& record) {
  const LossScaling& found = record.found;
  if (found.arms.empty()) return {};
  std::vector<std::string> scales;
  TableColumn names = text_column("scale"), underflows = number_column("underflow"),
              overflows = number_column("overflow"), skipped = number_column("steps skipped"),
              losses = number_column("loss"), steps = number_column("one step");
  for (const LossScalingArm& arm : found.arms) {
    scales.push_back(one_line(arm.name));
    names.cells.push_back(arm.name);
    underflows.cells.push_back(percent_text(arm.underflow));
    overflows.cells.push_back(percent_text(arm.overflow));
    skipped.cells.push_back(std::to_string(arm.skipped));
    losses.cells.push_back(arm.loss ? cell(*arm.loss) : "not finite");
    steps.cells.push_back(duration_text(arm.step));
  }
  const int width = width_beside(scales, kLongestScale);
  Json views = Json::array({lost_view(found, scales, width)});
  if (std::optional<Json> view = losses_view(found, scales, width)) views.push_back(*std::move(view));
  return {Plot{.id = "scales",
               .title = "What each scale of the loss does: " + one_line(found.model),
               .caption =
                   "Above: the share of all gradients that is zero and is not in float32 (underflow), or "
                   "not finite (overflow). Below: the loss, where it is finite; green: in float32.",
               .spec = stacked_plots(std::move(views)),
               .table = {names, underflows, overflows, skipped, losses, steps}}};
}

}  // namespace jitterscope::report
