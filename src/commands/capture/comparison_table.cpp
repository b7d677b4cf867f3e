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
using timeline::ComparedSteps;
using timeline::OneSided;
using timeline::TimeChange;
using timeline::WorkChange;

std::string time_of_seconds(double seconds) { return time_text(Nanoseconds(seconds * 1e9)); }

RatioEstimate ratio_of(const statistics::Effect& effect) {
  return {std::exp(effect.value), std::exp(effect.interval.low), std::exp(effect.interval.high)};
}

std::string change_clause(const TimeChange& change) {
  return change.effect ? ": " + change_with_interval(ratio_of(*change.effect)) : "";
}

Text head(const CaptureComparison& comparison, std::size_t width) {
  if (!comparison.has_steps) {
    return wrapped(
        fmt::format("**The GPU works {} in all, was {}**; not both sides have steps that were found, "
                    "so that calls are compared. It idles {} of the time, was {}.",
                    time_of_seconds(comparison.second_total), time_of_seconds(comparison.first_total),
                    percent_text(comparison.second_idle), percent_text(comparison.first_idle)),
        width);
  }
  Text text = wrapped(fmt::format("**The step takes {}, was {}**{}.", time_of_seconds(comparison.step.second),
                                  time_of_seconds(comparison.step.first), change_clause(comparison.step)),
                      width);
  text += wrapped(fmt::format("In it the GPU works {}, was {}{}; it idles {} of the time, was {}.",
                              time_of_seconds(comparison.busy.second), time_of_seconds(comparison.busy.first),
                              change_clause(comparison.busy), percent_text(comparison.second_idle),
                              percent_text(comparison.first_idle)),
                  width);
  constexpr double kMuchBeside = 0.01;
  if (comparison.first_beside > kMuchBeside * comparison.busy.first ||
      comparison.second_beside > kMuchBeside * comparison.busy.second) {
    text += wrapped(
        fmt::format("Between these steps, as in steps of another kind, it works {} more for each of "
                    "them, was {}.",
                    time_of_seconds(comparison.second_beside), time_of_seconds(comparison.first_beside)),
        width);
  }
  constexpr double kMostlyAlike = 0.5;
  if (comparison.alike < kMostlyAlike) {
    text += wrapped(
        fmt::format("**The steps do different work**: they share {} of it. Their times tell nothing of "
                    "each other unless a step of one is to be compared with one of the other.",
                    percent_text(comparison.alike)),
        width);
  }
  return text;
}

// Which steps are compared, where not all that `capture show` finds are.
Text parts_text(const CaptureComparison& comparison, std::size_t width) {
  Text text;
  for (const ComparedSteps& part : comparison.parts) {
    if (part.within) {
      text += list_item(fmt::format("{}: compared is what repeats within its steps, {:.0f} times in each",
                                    one_line(part.source), *part.within),
                        width);
    }
    if (part.levels) {
      text += list_item(
          fmt::format("{}: from step {} on a step takes {}, before it {} ({}); the later {} are compared",
                      one_line(part.source), part.levels->step + 1,
                      time_of_seconds(part.levels->after.median), time_of_seconds(part.levels->before.median),
                      time_change_text(part.levels->after.median / part.levels->before.median - 1.0),
                      counted(static_cast<std::int64_t>(part.levels->later), "step")),
          width);
    }
  }
  return text.empty() ? Text() : Text("\n") + text;
}

// "2, was 1": calls of a step, or in all; empty if both are as many.
std::string calls_text(const WorkChange& change) {
  if (std::abs(change.second_calls - change.first_calls) < 0.005 * change.first_calls) return "";
  return fmt::format("{:.3g}, was {:.3g}", change.second_calls, change.first_calls);
}

// Names have `longest_name` characters at most.
std::vector<TableColumn> changes_columns(const CaptureComparison& comparison, std::size_t rows,
                                         std::size_t longest_name) {
  TableColumn name{"kernel [blocks]", Align::left, {}}, first{"first", Align::right, {}},
      second{"second", Align::right, {}}, change{"change (95 %)", Align::right, {}},
      calls{"calls", Align::right, {}, 1}, moves{"moves a step by", Align::right, {}, 2};
  for (std::size_t i = 0; i < rows; ++i) {
    const WorkChange& each = comparison.changes[i];
    name.cells.push_back(kernel_label(each.name, longest_name) + (each.same_shape ? "" : ", another shape"));
    first.cells.push_back(time_of_seconds(each.time.first));
    second.cells.push_back(time_of_seconds(each.time.second));
    change.cells.push_back(!each.time.effect ? ""
                           : each.is_shown   ? change_of(ratio_of(*each.time.effect))
                                             : "not shown");
    calls.cells.push_back(calls_text(each));
    const double by = each.time.second - each.time.first;
    moves.cells.push_back(
        each.is_shown ? fmt::format("{}{}", by < 0 ? "-" : "+", time_of_seconds(std::abs(by))) : "");
  }
  std::vector<TableColumn> columns{name, first, second, change, calls};
  if (comparison.has_steps) columns.push_back(moves);
  return columns;
}

// Cuts names no shorter than the page is wide.
Text changes_table(const CaptureComparison& comparison, std::size_t rows, const ShownPage& shown) {
  std::vector<TableColumn> columns = changes_columns(comparison, rows, kShortName);
  const std::size_t width = table_width(columns);
  if (width < shown.width) columns = changes_columns(comparison, rows, kShortName + shown.width - width);
  return table_for(std::move(columns), shown);
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
  constexpr std::size_t kBehindName = 45;  // "[132]: 1.353 s in 15330 calls, 37 % of its work"
  const std::size_t longest_name = std::max(kShortName, shown.width - std::min(kBehindName, shown.width));
  for (std::size_t i = 0; i < count; ++i) {
    text += list_item(
        fmt::format("{}: {} in {}, {} of its work", kernel_label(only[i].name, longest_name),
                    time_of_seconds(only[i].seconds),
                    counted(static_cast<std::int64_t>(only[i].calls), "call"), percent_text(only[i].share)),
        shown.width);
  }
  if (count < only.size())
    text += list_item(fmt::format("{} more: --details", only.size() - count), shown.width);
  return text;
}

}  // namespace

Text capture_comparison_text(const CaptureComparison& comparison, const ShownPage& shown) {
  Text text = head(comparison, shown.width) + parts_text(comparison, shown.width) + "\n";
  const auto shown_changes = std::count_if(comparison.changes.begin(), comparison.changes.end(),
                                           [](const WorkChange& change) { return change.is_shown; });
  text += wrapped(fmt::format("{} of {} that both ran take another time{}.", shown_changes,
                              counted(static_cast<std::int64_t>(comparison.changes.size()), "kernel"),
                              comparison.has_steps ? " in a step" : " a call"),
                  shown.width) +
          "\n";
  std::size_t count = shown.details ? comparison.changes.size()
                                    : std::min<std::size_t>(shown.top.value_or(8), comparison.changes.size());
  if (count > 0) text += changes_table(comparison, count, shown);
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
