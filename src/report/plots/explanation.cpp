// What moves a time: the effects of causes, and how the plain loop varied.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/quantity_text.hpp"
#include "output/ratio_text.hpp"
#include "report/drawing.hpp"
#include "report/plots/levels.hpp"
#include "report/plots/record_plots.hpp"

namespace jitterscope::report {
namespace {

using namespace explain;

// Some causes move a time by a percent, a loop of one launch makes it four times as long: both are to be
// seen.
Json effect_scale(const Json& rows) {
  constexpr double kWide = 60.0;
  const bool is_wide =
      std::ranges::any_of(rows, [](const Json& row) { return row["high"].get<double>() > kWide; });
  if (!is_wide) return Json::object();
  return parsed(R"({"scale": {"type": "symlog", "constant": 4},
    "axis": {"values": [-80, -50, -20, -10, -5, 0, 5, 10, 20, 50, 100, 200, 500, 1000], "labelOverlap": "greedy"}})");
}

// A cause's name stands above its doses: beside each there would be no room for both.
Json causes_axis(const std::vector<std::string>& causes_and_doses) {
  Json axis = names_axis("row", causes_and_doses, 420);
  axis["scale"] = Json{{"domain", causes_and_doses}};
  axis["axis"]["labelExpr"] =
      "indexof(datum.label, ': ') < 0 ? datum.label : slice(datum.label, indexof(datum.label, ': ') + 2)";
  axis["axis"]["labelFontWeight"] = parsed(
      R"J({"condition": {"test": "indexof(datum.label, ': ') < 0", "value": "bold"}, "value": "normal"})J");
  return axis;
}

std::optional<Plot> causes_plot(const Explanation& study) {
  Json rows = Json::array();
  std::vector<std::string> names;  // of the rows, each cause before its doses
  TableColumn causes = text_column("cause"), doses = text_column("dose"), changes = number_column("change"),
              verdicts = text_column("verdict");
  for (const FactorResult& factor : study.factors) {
    if (!factor.doses.empty()) names.push_back(factor.cause);
    for (const DoseEffect& dose : factor.doses) {
      names.push_back(factor.cause + ": " + dose.dose);
      rows.push_back(Json{{"row", names.back()},
                          {"cause", factor.cause},
                          {"dose", dose.dose},
                          {"change", percent_change(dose.time.ratio)},
                          {"low", percent_change(dose.time.low)},
                          {"high", percent_change(dose.time.high)},
                          {"verdict", to_string(factor.verdict)},
                          {"remedy", factor.remedy}});
      causes.cells.push_back(factor.cause);
      doses.cells.push_back(dose.dose);
      changes.cells.push_back(change_with_interval(dose.time));
      verdicts.cells.emplace_back(to_string(factor.verdict));
    }
  }
  if (rows.empty()) return std::nullopt;
  const Json y = causes_axis(names);
  const Json color = category("verdict", "",
                              Json{{"title", nullptr},
                                   {"scale",
                                    {{"domain", {"cause", "cleared", "unresolved", "not identifiable"}},
                                     {"range", {kRed, kGreen, kGrey, kGrey}}}}});
  const Json x = quantity("low", "what it does to the time of the plain loop, %", effect_scale(rows));
  const std::vector<Json> layers = effect_layers(rows, y, x, color,
                                                 tooltip({{"cause", "cause"},
                                                          {"dose", "dose"},
                                                          {"change", "change, %"},
                                                          {"low", "from"},
                                                          {"high", "to"},
                                                          {"verdict", "verdict"},
                                                          {"remedy", "what to do"}}));
  return Plot{
      .id = "causes",
      .title = "What each cause does: " + study.operation,
      .caption =
          "Each dose was switched on beside the plain loop, in pairs. Bars are 95 % intervals. A cause grows with its "
          "dose; a cleared one does nothing within 0.5 %.",
      .spec = single_plot(Json{{"height", height_of(names, 18)}, {"layer", layers}}),
      .table = {causes, doses, changes, verdicts}};
}

std::optional<Plot> variation_plot(const Explanation& study) {
  Json rows = Json::array();
  TableColumn sources = text_column("source"), shares = number_column("share"), low = number_column("from"),
              high = number_column("to");
  for (const VariationShare& share : study.observation.shares) {
    rows.push_back(Json{{"source", to_string(share.variation)},
                        {"share", rounded(share.share)},
                        {"low", rounded(share.low)},
                        {"high", rounded(share.high)}});
    sources.cells.emplace_back(to_string(share.variation));
    shares.cells.push_back(percent_text(share.share));
    low.cells.push_back(percent_text(share.low));
    high.cells.push_back(percent_text(share.high));
  }
  if (rows.empty()) return std::nullopt;
  const Json y = category("source", "", parsed(R"({"title": null, "sort": null})"));
  Json bars{
      {"name", "shares"},
      {"mark", {{"type", "bar"}, {"color", kBlue}, {"opacity", 0.6}}},
      {"encoding",
       {{"y", y},
        {"x", quantity("share", "share of the variance seen", parsed(R"({"axis": {"format": "~%"}})"))},
        {"tooltip", tooltip({{"source", "source"}, {"share", "share"}, {"low", "from"}, {"high", "to"}})}}}};
  Json intervals{{"name", "intervals"},
                 {"mark", {{"type", "rule"}, {"size", 2}}},
                 {"encoding",
                  {{"y", y},
                   {"x", {{"field", "low"}, {"type", "quantitative"}}},
                   {"x2", {{"field", "high"}}},
                   {"color", {{"value", kGrey}}}}}};
  return Plot{
      .id = "variation",
      .title = "Why it varied: " + study.operation,
      .caption =
          "Shares of how the plain loops varied, with 95 % intervals: the launch's position in its loop, the clock, "
          "what differs from loop to loop, and the rest, which nothing here explains.",
      .spec = single_plot(Json{
          {"height", height_of(sources.cells, 30)}, {"data", data_of(rows)}, {"layer", {bars, intervals}}}),
      .table = {sources, shares, low, high}};
}

std::optional<Plot> loops_plot(const Explanation& study) {
  const TimeUnit unit = unit_for(study.observation.median);
  Json rows = Json::array();
  TableColumn loops = number_column("loop"), launches = number_column("from launch"),
              times = number_column(unit.axis("median")), clocks = number_column("clock, MHz");
  for (std::size_t i = 0; i < study.observation.loops.size(); ++i) {
    for (const LoopStretch& stretch : study.observation.loops[i].stretches) {
      Json row{{"loop", i + 1}, {"launch", stretch.first_launch}, {"time", unit.of(stretch.median)}};
      if (stretch.clock) row["clock"] = rounded(stretch.clock->value() / 1e6);
      loops.cells.push_back(std::to_string(i + 1));
      launches.cells.push_back(std::to_string(stretch.first_launch));
      times.cells.push_back(cell(unit.of(stretch.median)));
      clocks.cells.push_back(stretch.clock ? cell(stretch.clock->value() / 1e6) : "");
      rows.push_back(std::move(row));
    }
  }
  if (rows.empty()) return std::nullopt;
  const Json x = quantity("launch", "launch of the loop", parsed(R"({"scale": {"type": "log"}})"));
  const Json y = quantity("time", unit.axis("time of one launch"), not_from_zero());
  const Json detail = parsed(R"({"field": "loop", "type": "nominal"})");
  Json lines{{"mark", {{"type", "line"}, {"color", kBlue}, {"opacity", 0.35}}},
             {"encoding", {{"x", x}, {"y", y}, {"detail", detail}}}};
  Json points{{"name", "stretches"},
              {"mark", {{"type", "point"}, {"filled", true}, {"color", kBlue}, {"size", 24}}},
              {"encoding",
               {{"x", x},
                {"y", y},
                {"detail", detail},
                {"tooltip", tooltip({{"loop", "loop"},
                                     {"launch", "from launch"},
                                     {"time", "median, " + unit.name},
                                     {"clock", "clock, MHz"}})}}}};
  return Plot{
      .id = "loops",
      .title = "Plain loops: " + study.operation,
      .caption =
          "Each line is one loop from rest, as a first benchmark runs it. A point is the median of launches in a row: 1, "
          "2 to 3, 4 to 7, and so on.",
      .spec = single_plot(Json{{"height", 220}, {"data", data_of(rows)}, {"layer", {lines, points}}}),
      .table = {loops, launches, times, clocks}};
}

}  // namespace

std::vector<Plot> explain_plots(const ExplainRecord& record) {
  std::vector<Plot> plots;
  if (record.study) {
    std::array draws = {&causes_plot, &best_to_observed_plot, &variation_plot, &loops_plot};
    // The waterfall leads where it holds the causes, and not only what is left.
    if (record.study->fastest) std::swap(draws[0], draws[1]);
    for (auto* draw : draws) {
      if (std::optional<Plot> plot = draw(*record.study)) plots.push_back(*std::move(plot));
    }
  }
  constexpr std::size_t kMostAccounts = 8;
  for (const Account* account : largest_change_first(record.accounts)) {
    if (plots.size() >= kMostAccounts) break;
    plots.push_back(account_plot(*account));
  }
  return plots;
}

}  // namespace jitterscope::report
