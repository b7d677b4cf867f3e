#include "commands/capture/comparison_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/quantity_text.hpp"
#include "commands/capture/record.hpp"
#include "experiment/comparison.hpp"

namespace jitterscope {
namespace {

using timeline::CaptureComparison;
using timeline::OneSided;
using timeline::WorkChange;

std::string time_of_seconds(double seconds) { return time_text(Nanoseconds(seconds * 1e9)); }

std::string effect_text(const statistics::Effect& effect) {
  return change_with_interval(
      {std::exp(effect.value), std::exp(effect.interval.low), std::exp(effect.interval.high)});
}

std::string head(const CaptureComparison& comparison) {
  if (comparison.has_steps) {
    return fmt::format("**The step takes {}, was {}**{}.", time_of_seconds(comparison.second_step),
                       time_of_seconds(comparison.first_step),
                       comparison.step_effect ? ": " + effect_text(*comparison.step_effect) : "");
  }
  return fmt::format("**The GPU works {}, was {}** in all; the sides have no step in common.",
                     time_of_seconds(comparison.second_busy), time_of_seconds(comparison.first_busy));
}

Text only_text(const std::vector<OneSided>& only, const char* side, const ShownPage& shown) {
  if (only.empty()) return {};
  double all = 0.0;
  for (const OneSided& each : only) all += each.seconds;
  Text text =
      wrapped(fmt::format("Only in the {}: {}, {} in all.", side,
                          counted(static_cast<std::int64_t>(only.size()), "kernel"), time_of_seconds(all)),
              shown.width);
  const std::size_t count = shown.details ? only.size() : std::min<std::size_t>(3, only.size());
  for (std::size_t i = 0; i < count; ++i) {
    text +=
        list_item(fmt::format("{}: {} in {}", kernel_label(only[i].name), time_of_seconds(only[i].seconds),
                              counted(static_cast<std::int64_t>(only[i].calls), "call")),
                  shown.width);
  }
  if (count < only.size())
    text += list_item(fmt::format("{} more: --details", only.size() - count), shown.width);
  return text;
}

}  // namespace

Text capture_comparison_text(const CaptureComparison& comparison, const ShownPage& shown) {
  Text text = wrapped(head(comparison), shown.width);
  const char* unit = comparison.has_steps ? "a step" : "in all";
  text += wrapped(
      fmt::format("Of it the GPU works {} {}, was {}; it idles {} of the time, was {}.",
                  time_of_seconds(comparison.second_busy), unit, time_of_seconds(comparison.first_busy),
                  percent_text(comparison.second_idle), percent_text(comparison.first_idle)),
      shown.width);
  const auto shown_changes = std::count_if(comparison.changes.begin(), comparison.changes.end(),
                                           [](const WorkChange& change) { return change.is_shown; });
  text += wrapped(fmt::format("{} of {} that both ran take another time.", shown_changes,
                              counted(static_cast<std::int64_t>(comparison.changes.size()), "kernel")),
                  shown.width) +
          "\n";
  std::size_t count = shown.details ? comparison.changes.size()
                                    : std::min<std::size_t>(shown.top.value_or(8), comparison.changes.size());
  TableColumn name{"kernel [blocks]", Align::left, {}}, first{"first", Align::right, {}},
      second{"second", Align::right, {}};
  TableColumn change{"change (95 %)", Align::right, {}},
      moves{std::string("moves ") + unit + " by", Align::right, {}, 1};
  for (std::size_t i = 0; i < count; ++i) {
    const WorkChange& each = comparison.changes[i];
    name.cells.push_back(kernel_label(each.name) + (each.same_shape ? "" : " (another shape)"));
    first.cells.push_back(time_of_seconds(each.first_median));
    second.cells.push_back(time_of_seconds(each.second_median));
    change.cells.push_back(!each.effect ? "" : each.is_shown ? effect_text(*each.effect) : "not shown");
    const double by = each.second_in_step - each.first_in_step;
    moves.cells.push_back(fmt::format("{}{}", by < 0 ? "-" : "+", time_of_seconds(std::abs(by))));
  }
  if (count > 0) text += fitted_table({name, first, second, change, moves}, shown.width);
  if (count < comparison.changes.size())
    text += fmt::format("{} more: --details\n", comparison.changes.size() - count);
  if (!comparison.only_first.empty() || !comparison.only_second.empty()) text += "\n";
  text +=
      only_text(comparison.only_first, "first", shown) + only_text(comparison.only_second, "second", shown);
  if (comparison.is_of_single_processes()) {
    text +=
        "\n" +
        wrapped(
            "One process a side: what differs between two processes of the same program (0.1 to 2.2 % on an H200) "
            "is not in the intervals. Several captures a side tell: `capture compare A1,A2,A3 B1,B2,B3`.",
            shown.width);
  }
  return text;
}

}  // namespace jitterscope
