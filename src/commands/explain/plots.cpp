#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/quantity_text.hpp"
#include "commands/explain/record.hpp"
#include "experiment/comparison.hpp"
#include "explain/account.hpp"
#include "explain/explanation.hpp"
#include "jitterscope/measurement.hpp"
#include "output/cells.hpp"
#include "report/drawing.hpp"
#include "statistics/statistics.hpp"

// Plots an explanation: effects of causes, and waterfalls between two levels of a time.

namespace jitterscope::report {

/// Plots from the fastest loop of the study to the loops that a first benchmark runs. Returns nullopt if the
/// study did not get that far, or if its record is older.
std::optional<Plot> best_to_observed_plot(const explain::Explanation& study);

/// Plots from the first record's time to the second's: of one call, and of all calls.
Plot account_plot(const explain::Account& account);
Plot total_plot(const explain::AccountTotal& total, bool is_of_program);

// Below: a waterfall between levels of a time, where each part begins at the end of the one above.

/// Draws levels that are times, and parts that multiply.
class Waterfall {
 public:
  /// `unit` must fit the largest level.
  explicit Waterfall(TimeUnit unit, std::string of_what = "time of one launch")
      : unit_(std::move(unit)), of_what_(std::move(of_what)) {}

  /// Adds a level at this time, with its own interval.
  void add_level(const std::string& name, const TimeEstimate& time);
  /// Multiplies the reached time by a ratio; `source` says what was switched, or how the ratio is known.
  void add_part(const std::string& name, const RatioEstimate& ratio, const std::string& source);
  /// Adds the step from the end of the parts to the next level. `ratio` has its interval.
  void add_rest(std::string_view name, const RatioEstimate& ratio, Nanoseconds level);

  Nanoseconds reached() const { return reached_; }
  /// Returns a view as wide as a page.
  Json view() const;
  /// `sources` is the heading of the column of sources.
  std::vector<TableColumn> table(std::string_view sources) const;

 private:
  struct Row {
    std::string name;
    Nanoseconds begin, end, low, high;  ///< low and high are the interval of the end
    std::string_view kind;
    std::string shown, brief, source;  ///< the change with its interval, and without
  };

  void add_step(const std::string& name, const RatioEstimate& ratio, Nanoseconds end, std::string_view kind,
                const std::string& source);

  TimeUnit unit_;
  std::string of_what_;
  std::vector<Row> rows_;
  Nanoseconds reached_;
};

// Below: effects of causes, and the variation of the plain loop.

namespace {

using namespace explain;

// Some causes change a time by a percent, and a loop of one launch makes it four times as long: the scale
// must show both.
Json effect_scale(const Json& rows) {
  constexpr double kWide = 60.0;
  const bool is_wide =
      std::ranges::any_of(rows, [](const Json& row) { return row["high"].get<double>() > kWide; });
  if (!is_wide) return Json::object();
  return filled(R"({"scale": {"type": "symlog", "constant": 4},
    "axis": {"values": [-80, -50, -20, -10, -5, 0, 5, 10, 20, 50, 100, 200, 500, 1000], "labelOverlap": "greedy"}})");
}

// Writes a cause's name above its doses: beside each dose there is no room for both.
Json causes_axis(const std::vector<std::string>& causes_and_doses) {
  return filled(R"J({
    "field": "row:N", "title": null, "sort": "$names", "scale": {"domain": "$names"},
    "axis": {
      "title": null, "labelLimit": 420,
      "labelExpr": "indexof(datum.label, ': ') < 0 ? datum.label : slice(datum.label, indexof(datum.label, ': ') + 2)",
      "labelFontWeight": {"condition": {"test": "indexof(datum.label, ': ') < 0", "value": "bold"}, "value": "normal"}
    }
  })J",
                "names", causes_and_doses);
}

std::optional<Plot> causes_plot(const Explanation& study) {
  Json rows = Json::array();
  std::vector<std::string> names;  // the rows: each cause before its doses
  std::vector<TableColumn> table = columns_of({"cause", "dose", ">change", "verdict"});
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
      add_row(table, {factor.cause, dose.dose, change_with_interval(dose.time), to_string(factor.verdict)});
    }
  }
  if (rows.empty()) return std::nullopt;
  Json x = filled(R"({"field": "low:Q", "title": "what it does to the time of the plain loop, %"})");
  x.update(effect_scale(rows));
  const Json layers = effect_layers(rows, channels(R"({
    "y": "$y", "x": "$x",
    "color": {"field": "verdict:N", "title": null,
              "scale": {"domain": ["cause", "cleared", "unresolved", "not identifiable"], "range": ["$red", "$green", "$grey", "$grey"]}},
    "tooltip": [["cause", "cause"], ["dose", "dose"], ["change", "change, %"], ["low", "from"], ["high", "to"],
                ["verdict", "verdict"], ["remedy", "what to do"]]
  })",
                                                   "y", causes_axis(names), "x", x));
  return Plot{
      .id = "causes",
      .title = "What each cause does: " + study.operation,
      .caption =
          "Each dose was switched on beside the plain loop, in pairs. Bars are 95 % intervals. A cause grows with its "
          "dose; a cleared one does nothing within 0.5 %.",
      .spec = single_plot(Json{{"height", height_of(names, 18)}, {"layer", layers}}),
      .table = std::move(table)};
}

std::optional<Plot> variation_plot(const Explanation& study) {
  Json rows = Json::array();
  std::vector<TableColumn> table = columns_of({"source", ">share", ">from", ">to"});
  for (const VariationShare& share : study.observation.shares) {
    rows.push_back(Json{{"source", to_string(share.variation)},
                        {"share", rounded(share.share)},
                        {"low", rounded(share.low)},
                        {"high", rounded(share.high)}});
    add_row(table, {to_string(share.variation), percent_text(share.share), percent_text(share.low),
                    percent_text(share.high)});
  }
  if (rows.empty()) return std::nullopt;
  const Json view = filled(R"({
    "height": "$height", "data": "$rows",
    "layer": [
      {"name": "shares", "mark": {"type": "bar", "color": "$blue", "opacity": 0.6},
       "encoding": {"y": "$y", "x": {"field": "share:Q", "title": "share of the variance seen", "axis": {"format": "~%"}},
                    "tooltip": [["source", "source"], ["share", "share"], ["low", "from"], ["high", "to"]]}},
      {"name": "intervals", "mark": {"type": "rule", "size": 2},
       "encoding": {"y": "$y", "x": "low:Q", "x2": "high", "color": {"value": "$grey"}}}
    ]
  })",
                           "height", height_of(table[0].cells, 30), "rows", rows, "y",
                           filled(R"({"field": "source:N", "title": null, "sort": null})"));
  return Plot{
      .id = "variation",
      .title = "Why it varied: " + study.operation,
      .caption =
          "Shares of the variance of the plain loops (of the medians of their launches 1, 2–3, 4–7, …), with 95 % "
          "intervals: the launch's position in its loop, the clock, what differs from loop to loop, and the rest, "
          "which nothing here explains.",
      .spec = single_plot(view),
      .table = std::move(table)};
}

std::optional<Plot> loops_plot(const Explanation& study) {
  const TimeUnit unit = unit_for(study.observation.median);
  Json rows = Json::array();
  std::vector<TableColumn> table =
      columns_of({">loop", ">from launch", ">" + unit.axis("median"), ">clock, MHz"});
  for (std::size_t i = 0; i < study.observation.loops.size(); ++i) {
    for (const LoopStretch& stretch : study.observation.loops[i].stretches) {
      Json row{{"loop", i + 1}, {"launch", stretch.first_launch}, {"time", unit.of(stretch.median)}};
      if (stretch.clock) row["clock"] = rounded(stretch.clock->value() / 1e6);
      add_row(table,
              {std::to_string(i + 1), std::to_string(stretch.first_launch), cell(unit.of(stretch.median)),
               stretch.clock ? cell(stretch.clock->value() / 1e6) : ""});
      rows.push_back(std::move(row));
    }
  }
  if (rows.empty()) return std::nullopt;
  const Json view = filled(
      R"({
    "height": 220, "data": "$rows",
    "layer": [
      {"mark": {"type": "line", "color": "$blue", "opacity": 0.35}, "encoding": {"x": "$x", "y": "$y", "detail": "loop:N"}},
      {"name": "stretches", "mark": {"type": "point", "filled": true, "color": "$blue", "size": 24},
       "encoding": {"x": "$x", "y": "$y", "detail": "loop:N",
                    "tooltip": [["loop", "loop"], ["launch", "from launch"], ["time", "median, $unit"], ["clock", "clock, MHz"]]}}
    ]
  })",
      "rows", rows, "unit", unit.name, "x",
      filled(R"({"field": "launch:Q", "title": "launch of the loop", "scale": {"type": "log"}})"), "y",
      filled(R"({"field": "time:Q", "title": "time of one launch, $unit", "scale": {"zero": false}})", "unit",
             unit.name));
  return Plot{
      .id = "loops",
      .title = "Plain loops: " + study.operation,
      .caption =
          "Each line is one loop from rest, as a first benchmark runs it. A point is the median of launches in a row: 1, "
          "2 to 3, 4 to 7, and so on.",
      .spec = single_plot(view),
      .table = std::move(table)};
}

}  // namespace

std::vector<Plot> plots_of(const ExplainRecord& record) {
  std::vector<Plot> plots;
  if (record.study) {
    std::array draws = {&causes_plot, &best_to_observed_plot, &variation_plot, &loops_plot};
    // The waterfall comes first if it shows causes and not only the rest.
    if (record.study->fastest) std::swap(draws[0], draws[1]);
    for (auto* draw : draws) {
      if (std::optional<Plot> plot = draw(*record.study)) plots.push_back(*std::move(plot));
    }
  }
  for (Plot& plot : plots_of_accounts(record.accounts)) plots.push_back(std::move(plot));
  return plots;
}

std::vector<Plot> plots_of_accounts(const std::vector<Account>& accounts) {
  constexpr std::size_t kMost = 8;
  std::vector<Plot> plots;
  if (const auto total = total_of(accounts))
    plots.push_back(total_plot(*total, accounts.front().is_of_program));
  for (const Account* account : largest_change_first(accounts)) {
    if (plots.size() >= kMost) break;
    plots.push_back(account_plot(*account));
  }
  return plots;
}

namespace {

// Returns the observed level, with the interval from the loops. Not by ranks: most medians in steps of a
// timer are equal.
TimeEstimate observed_level(const Observation& observation) {
  std::vector<double> medians;
  for (const ObservedLoop& loop : observation.loops) medians.push_back(loop.median.value());
  TimeEstimate level{observation.median, observation.median, observation.median, std::ssize(medians)};
  if (const auto mean = statistics::trimmed_mean(medians); mean && mean->value > 0.0) {
    level.low = level.median * (mean->interval.low / mean->value);
    level.high = level.median * (mean->interval.high / mean->value);
  }
  return level;
}

// Error of a ratio of separate measurements: the squares of their logarithms add up.
struct LogError {
  double below = 0.0, above = 0.0;

  void add(const RatioEstimate& ratio) {
    below += std::pow(std::log(ratio.ratio / ratio.low), 2);
    above += std::pow(std::log(ratio.high / ratio.ratio), 2);
  }
  RatioEstimate around(double ratio) const {
    return {ratio, ratio * std::exp(-std::sqrt(below)), ratio * std::exp(std::sqrt(above))};
  }
};

RatioEstimate inverse(const RatioEstimate& ratio) {
  return {1.0 / ratio.ratio, 1.0 / ratio.high, 1.0 / ratio.low};
}
RatioEstimate relative(const TimeEstimate& time) {
  return {1.0, time.low / time.median, time.high / time.median};
}

TimeEstimate fastest_level(const TimeEstimate& plain, const std::optional<FastestLoop>& fastest) {
  if (!fastest) return plain;
  return {plain.median * fastest->time.ratio, plain.median * fastest->time.low,
          plain.median * fastest->time.high, fastest->blocks};
}

struct TakenAway {
  const FactorResult* factor;
  const DoseEffect* dose;
};

// Returns the doses taken away, the largest first; nullopt if the record names one that it does not hold.
std::optional<std::vector<TakenAway>> taken_away(const Explanation& study) {
  std::vector<TakenAway> taken;
  if (!study.fastest) return taken;
  for (const FastestLoop::Part& part : study.fastest->parts) {
    const auto factor = std::ranges::find(study.factors, part.factor, &FactorResult::id);
    if (factor == study.factors.end()) return std::nullopt;
    const auto dose = std::ranges::find(factor->doses, part.dose, &DoseEffect::dose);
    if (dose == factor->doses.end() || !(dose->time.low > 0.0)) return std::nullopt;
    taken.push_back({&*factor, &*dose});
  }
  std::ranges::stable_sort(taken, {}, [](const TakenAway& each) { return each.dose->time.ratio; });
  return taken;
}

}  // namespace

std::optional<Plot> best_to_observed_plot(const Explanation& study) {
  const auto taken = taken_away(study);
  if (!study.plain || !taken || study.observation.loops.empty()) return std::nullopt;
  const TimeEstimate best = fastest_level(*study.plain, study.fastest),
                     observed = observed_level(study.observation);
  if (!(best.low > Nanoseconds(0)) || !(observed.low > Nanoseconds(0))) return std::nullopt;
  Waterfall waterfall(unit_for(std::max(best.median, observed.median)));
  waterfall.add_level("best", best);
  LogError error;
  error.add(relative(best));
  error.add(relative(observed));
  for (const TakenAway& each : *taken) {
    const RatioEstimate ratio = inverse(each.dose->time);
    waterfall.add_part(each.factor->cause, ratio, each.factor->usual + " in place of " + each.dose->dose);
    error.add(ratio);
  }
  // Causes that were measured one by one overlap: a step back is no fault.
  const RatioEstimate rest = error.around(observed.median / waterfall.reached());
  waterfall.add_rest(rest.high < 1.0 && !taken->empty() ? "overlap of the parts" : explain::rest_name(rest),
                     rest, observed.median);
  waterfall.add_level("observed", observed);
  const std::string caption =
      taken->empty()
          ? "No cause makes the plain loop faster: best is the plain loop behind the same rest each time. "
          : "Best: the loop with every cause of its length taken away at once. Red: what each adds, measured alone. ";
  return Plot{
      .id = "best",
      .title = "From best to observed: " + study.operation,
      .caption =
          caption +
          "Observed: plain loops behind idles of any length, as a first benchmark runs them. Grey: from the parts "
          "to what was observed. To the left, causes overlap: together they add less than one by one; to the "
          "right, they add more together, or loops have something of their own. Purple: 95 % intervals.",
      .spec = single_plot(waterfall.view()),
      .table = waterfall.table("by")};
}

namespace {

// Both have a first and a second time, parts and a rest.
template <class Accounted>
Plot waterfall_between(const Accounted& account, const std::string& name, const std::string& of_what,
                       bool is_of_program) {
  Waterfall waterfall(unit_for(std::max(account.first.median, account.second.median)), of_what);
  waterfall.add_level(is_of_program ? "alone" : "first record", account.first);
  for (const auto& part : account.parts) {
    std::string source;
    if constexpr (requires { part.source; }) source = part.source;
    if (part.ratio && part.ratio->ratio != 1.0) waterfall.add_part(part.name, *part.ratio, source);
  }
  waterfall.add_rest(explain::rest_name(account.rest), account.rest, account.second.median);
  waterfall.add_level(is_of_program ? "in PyTorch" : "second record", account.second);
  return Plot{
      .id = "account",
      .title = (is_of_program ? "Alone and in PyTorch: " : "From the first record to the second: ") + name,
      .caption =
          "Each circumstance in which the two differ, and what it does to the time where that is known. Grey: from the parts "
          "to the second time, which no part accounts for. Purple: 95 % intervals.",
      .spec = single_plot(waterfall.view()),
      .table = waterfall.table("how it is known")};
}

}  // namespace

Plot account_plot(const Account& account) {
  return waterfall_between(account, explain::name_of(account), "time of one launch", account.is_of_program);
}

Plot total_plot(const AccountTotal& total, bool is_of_program) {
  return waterfall_between(total, fmt::format("{} calls", total.calls), "time of these calls", is_of_program);
}

namespace {

constexpr int kLongestPart = 300, kRowHeight = 30;  // in pixels
constexpr std::string_view kLevel = "measured", kSlower = "slower", kFaster = "faster", kRest = "rest";

Json kind_color() {
  return filled(R"({"field": "kind:N", "title": null,
    "scale": {"domain": ["$level", "$slower", "$faster", "$rest"], "range": ["$blue", "$red", "$green", "$grey"]}})",
                "level", kLevel, "slower", kSlower, "faster", kFaster, "rest", kRest);
}

}  // namespace

void Waterfall::add_level(const std::string& name, const TimeEstimate& time) {
  const bool known = has_interval(time);
  rows_.push_back({name,
                   time.median,
                   time.median,
                   known ? time.low : time.median,
                   known ? time.high : time.median,
                   kLevel,
                   estimate_text(time),
                   time_text(time.median, time.precision()),
                   {}});
  reached_ = time.median;
}

void Waterfall::add_step(const std::string& name, const RatioEstimate& ratio, Nanoseconds end,
                         std::string_view kind, const std::string& source) {
  rows_.push_back({name, reached_, end, reached_ * ratio.low, reached_ * ratio.high, kind,
                   change_with_interval(ratio), change_text(ratio.ratio - 1.0), source});
  reached_ = end;
}

void Waterfall::add_part(const std::string& name, const RatioEstimate& ratio, const std::string& source) {
  add_step(name, ratio, reached_ * ratio.ratio, ratio.ratio > 1.0 ? kSlower : kFaster, source);
}

void Waterfall::add_rest(std::string_view name, const RatioEstimate& ratio, Nanoseconds level) {
  add_step(std::string(name), ratio, level, kRest, "the way from the parts to the next level");
}

Json Waterfall::view() const {
  Json all = Json::array(), levels = Json::array(), parts = Json::array(), joints = Json::array();
  std::vector<std::string> names;
  for (const Row& row : rows_) names.push_back(name_apart(row.name, names));
  double least = unit_.of(rows_.front().end), most = least;
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    const Row& row = rows_[i];
    const double begin = unit_.of(row.begin), end = unit_.of(row.end), low = unit_.of(row.low),
                 high = unit_.of(row.high);
    least = std::min({least, begin, end, low});
    most = std::max({most, begin, end, high});
    const Json drawn{{"part", names[i]},    {"begin", begin},      {"end", end},
                     {"low", low},          {"high", high},        {"right", std::max({begin, end, high})},
                     {"kind", row.kind},    {"change", row.shown}, {"words", row.brief},
                     {"source", row.source}};
    all.push_back(drawn);
    (row.kind == kLevel ? levels : parts).push_back(drawn);
    if (i + 1 < rows_.size()) {
      joints.push_back(Json{{"part", names[i]}, {"next", names[i + 1]}, {"end", end}});
    }
  }
  // Leaves room for text at the right of the bars. Levels are points, so the axis need not start at 0.
  const double span = most > least ? most - least : most * 0.01;
  const Json scale =
      filled(R"({"domain": ["$from", "$to"], "range": [0, {"expr": "width - 90"}], "nice": false})", "from",
             rounded(least - 0.04 * span), "to", rounded(most));
  const auto x = [&](const char* field) {
    return filled(R"({"field": "$field:Q", "title": "$title", "scale": "$scale"})", "field", field, "title",
                  unit_.axis(of_what_), "scale", scale);
  };
  return filled(R"({
    "height": "$height",
    "layer": [
      {"name": "joints", "data": "$joints", "mark": {"type": "rule", "color": "$grey", "strokeDash": [2, 3]},
       "encoding": {"y": "$y", "y2": "next", "x": "$end"}},
      {"name": "parts", "data": "$parts", "mark": {"type": "bar", "height": 16},
       "encoding": {"y": "$y", "x": "$begin", "x2": "end", "color": "$color", "tooltip": "$tips",
                    "opacity": {"condition": {"test": "datum.kind === '$rest'", "value": 0.35}, "value": 0.75}}},
      {"name": "intervals", "data": "$all", "mark": {"type": "rule", "size": 2, "color": "$purple"},
       "encoding": {"y": "$y", "x": "$low", "x2": "high", "tooltip": "$tips"}},
      {"name": "levels", "data": "$levels", "mark": {"type": "point", "filled": true, "size": 110, "opacity": 1},
       "encoding": {"y": "$y", "x": "$end", "color": "$color", "tooltip": "$tips"}},
      {"name": "changes", "data": "$all", "mark": {"type": "text", "align": "left", "dx": 10, "color": "$grey", "fontSize": 12},
       "encoding": {"y": "$y", "x": "$right", "text": "words"}}
    ]
  })",
                "height", height_of(names, kRowHeight), "joints", joints, "parts", parts, "all", all,
                "levels", levels, "y", names_axis("part", names, kLongestPart), "begin", x("begin"), "end",
                x("end"), "low", x("low"), "right", x("right"), "color", kind_color(), "rest", kRest, "tips",
                channels(R"({"tooltip": [["part", "part"], ["change", "change"], ["end", "reached, $unit"],
      ["low", "interval from, $unit"], ["high", "to, $unit"], ["source", "by"]]})",
                         "unit", unit_.name)["tooltip"]);
}

std::vector<TableColumn> Waterfall::table(std::string_view sources) const {
  std::vector<TableColumn> table = columns_of({"part", ">" + unit_.axis("from"), ">" + unit_.axis("to"),
                                               ">interval from", ">to", ">change", sources});
  for (const Row& row : rows_) {
    const bool is_level = row.kind == kLevel;
    add_row(table,
            {row.name, is_level ? "" : cell(unit_.of(row.begin)), cell(unit_.of(row.end)),
             cell(unit_.of(row.low)), cell(unit_.of(row.high)), is_level ? "" : row.shown, row.source});
  }
  return table;
}

}  // namespace jitterscope::report
