#include "measure/where_to_work.hpp"

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "base/quantity_text.hpp"
#include "commands/run/plots.hpp"
#include "commands/run/table.hpp"
#include "measure/rates_and_totals.hpp"
#include "output/cells.hpp"
#include "output/text.hpp"
#include "report/drawing.hpp"

// Prints and draws where a network's time goes, and what faster kernels could save.

namespace jitterscope {
namespace {

constexpr std::string_view kOnlyByFusion = "only by fusion";

std::string of_ceiling_text(const WorkGroup& group) {
  const std::optional<double> reached = group.of_ceiling();
  return reached ? percent_text(*reached) : std::string(kAbsent);
}

// A part of the group without a known ceiling may save more, nobody knows how much.
std::string could_save_text(const WorkGroup& group) {
  if (!group.of_ceiling()) return "not known";
  const bool is_all = group.known_share > 0.999 * group.share;
  return percent_text(group.could_save) + (is_all ? "" : " + ?");
}

Text groups_table(const std::vector<WorkGroup>& groups, std::size_t shown, const std::string& heading,
                  std::size_t width) {
  TableColumn names{heading, Align::left, {}}, calls{"calls", Align::right, {}, 2},
      shares{"share", Align::right, {}}, reached{"of ceiling", Align::right, {}, 1},
      savings{"could save", Align::right, {}}, ways{"", Align::left, {}};
  for (std::size_t i = 0; i < std::min(shown, groups.size()); ++i) {
    const WorkGroup& group = groups[i];
    names.cells.push_back(one_line(group.name));
    calls.cells.push_back(std::to_string(group.calls));
    shares.cells.push_back(percent_text(group.share));
    reached.cells.push_back(of_ceiling_text(group));
    savings.cells.push_back(could_save_text(group));
    ways.cells.emplace_back(group.is_at_ceiling() ? kOnlyByFusion : "");
  }
  return fitted_table({names, calls, shares, reached, savings, ways}, width);
}

bool has_ceilings(const WhereToWork& where) {
  return std::ranges::any_of(where.parts,
                             [](const WorkGroup& part) { return part.of_ceiling().has_value(); });
}

}  // namespace

Text advice_line(const RunPage& run) {
  if (is_network(run.record) && ended_early(run.record) && timed_part(run.record)) {
    return wrapped("**Work on: not known yet**, as the calls that are not timed may take most of the time.",
                   run.page.width);
  }
  const std::optional<WhereToWork> where = where_to_work(run.record);
  if (!where || !has_ceilings(*where)) return {};
  std::string text = "**" + one_line(advice_of(*where)) + "**";
  const bool is_recorded = std::ranges::any_of(
      run.record.entries, [](const RunEntry& entry) { return entry.recorded_time.has_value(); });
  if (is_recorded) text += " These are shares of the times measured here, not of those recorded.";
  // The same answer as `capture show` gives of the record.
  if (const auto& use = run.record.recorded_use) {
    if (const std::string limit = limit_of_faster_kernels(1.0 - use->busy); !limit.empty())
      text += fmt::format(" In the record the GPU idles {} of the time: {}.", percent_text(1.0 - use->busy),
                          limit);
  }
  return wrapped(text, run.page.width);
}

Text where_to_work_section(const RunPage& run) {
  constexpr std::size_t kParts = 5;
  const std::optional<WhereToWork> where = where_to_work(run.record);
  if (!where || !has_ceilings(*where)) return {};
  const std::size_t width = run.page.width, top = run.page.top.value_or(where->parts.size()),
                    shown = std::min(where->parts.size(), top <= 2 * kParts ? std::min(top, kParts) : top);
  const Text text = groups_table(where->kinds, where->kinds.size(), "by kind", width) + '\n' +
                    groups_table(where->parts, shown, "by what it could save", width);
  std::string words = "could save: at most, of the whole time, if these calls ran at their ceilings.";
  const bool any_at_ceiling =
      std::ranges::any_of(where->kinds, &WorkGroup::is_at_ceiling) ||
      std::ranges::any_of(std::span(where->parts).first(shown), &WorkGroup::is_at_ceiling);
  if (any_at_ceiling) {
    words += fmt::format(
        " {}: at {} of the ceiling or more, where a faster kernel gains little; fusion with what stands beside it, "
        "less work or a smaller type helps.",
        kOnlyByFusion, percent_text(kAtCeiling));
  }
  if (shown < where->parts.size())
    words += fmt::format(" {} of {} parts; all: --top all.", shown, where->parts.size());
  if (const std::string unknown = unknown_ceilings(*where); !unknown.empty()) words += ' ' + unknown;
  return text + '\n' + wrapped(words, width);
}

}  // namespace jitterscope

namespace jitterscope::report {

std::optional<Plot> where_to_work_plot(const RunRecord& record) {
  constexpr std::size_t kMostParts = 20;
  constexpr int kLongestPart = 320;  // in pixels
  constexpr std::string_view kAtIt = "at the ceiling", kSaved = "could save", kOpen = "no known ceiling";
  const std::optional<WhereToWork> where = where_to_work(record);
  if (!where) return std::nullopt;
  Json rows = Json::array();
  std::vector<TableColumn> table = columns_of({"part", ">calls", ">share", ">of ceiling", ">could save"});
  for (std::size_t i = 0; i < std::min(where->parts.size(), kMostParts); ++i) {
    const WorkGroup& part = where->parts[i];
    const auto add = [&](int place, std::string_view of, double share) {
      if (share < 1e-6) return;
      rows.push_back(Json{{"part", part.name},
                          {"of", of},
                          {"place", place},
                          {"share", rounded(share)},
                          {"shown", percent_text(share)},
                          {"reached", of_ceiling_text(part)},
                          {"calls", part.calls}});
    };
    add(0, kSaved, part.could_save);
    add(1, kAtIt, part.known_share - part.could_save);
    add(2, kOpen, part.share - part.known_share);
    add_row(table, {part.name, std::to_string(part.calls), percent_text(part.share), of_ceiling_text(part),
                    could_save_text(part)});
  }
  const Json view = filled(R"({
    "height": "$height", "name": "parts", "data": "$rows", "mark": {"type": "bar"},
    "encoding": {
      "y": "$y", "x": {"field": "share:Q", "title": "share of the time", "axis": {"format": "~%"}},
      "order": "place:Q",
      "color": {"field": "of:N", "title": null,
                "scale": {"domain": ["$saved", "$at_it", "$open"], "range": ["$orange", "$blue", "$grey"]}},
      "tooltip": [["part", "part"], ["of", "time"], ["shown", "share"], ["reached", "of the ceiling"], ["calls", "calls"]]}
  })",
                           "height", height_of(table[0].cells, 20), "rows", rows, "y",
                           names_axis("part", table[0].cells, kLongestPart), "saved", kSaved, "at_it", kAtIt,
                           "open", kOpen);
  return Plot{
      .id = "where_to_work",
      .title = "Where to work" + (record.title.empty() ? std::string() : ": " + record.title),
      .caption = advice_of(*where) +
                 ". Orange: what would be saved if the part ran at its ceiling, at most. Blue: what its "
                 "work takes at the ceiling. Grey: no ceiling is known.",
      .spec = single_plot(view),
      .table = std::move(table)};
}

}  // namespace jitterscope::report
