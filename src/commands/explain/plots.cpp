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
Plot total_plot(const explain::AccountTotal& total, bool is_of_trace);

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
  /// Adds the step from the end of the parts to the next level, under a name that says what it is: a large
  /// one is no fault, where parts that were measured one by one overlap. `ratio` has its interval.
  void add_rest(const RatioEstimate& ratio, Nanoseconds level);

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
  return parsed(R"({"scale": {"type": "symlog", "constant": 4},
    "axis": {"values": [-80, -50, -20, -10, -5, 0, 5, 10, 20, 50, 100, 200, 500, 1000], "labelOverlap": "greedy"}})");
}

// Writes a cause's name above its doses: beside each dose there is no room for both.
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
  std::vector<std::string> names;  // the rows: each cause before its doses
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
  if (const auto total = total_of(record.accounts))
    plots.push_back(total_plot(*total, record.accounts.front().is_of_trace()));
  constexpr std::size_t kMostAccounts = 8;
  for (const Account* account : largest_change_first(record.accounts)) {
    if (plots.size() >= kMostAccounts) break;
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
  waterfall.add_rest(error.around(observed.median / waterfall.reached()), observed.median);
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
                       bool is_of_trace) {
  Waterfall waterfall(unit_for(std::max(account.first.median, account.second.median)), of_what);
  waterfall.add_level(is_of_trace ? "alone" : "first record", account.first);
  for (const auto& part : account.parts) {
    std::string source;
    if constexpr (requires { part.source; }) source = part.source;
    if (part.ratio && part.ratio->ratio != 1.0) waterfall.add_part(part.name, *part.ratio, source);
  }
  waterfall.add_rest(account.rest, account.second.median);
  waterfall.add_level(is_of_trace ? "in PyTorch" : "second record", account.second);
  return Plot{
      .id = "account",
      .title = (is_of_trace ? "Alone and in PyTorch: " : "From the first record to the second: ") + name,
      .caption =
          "Each circumstance in which the two differ, and what it does to the time where that is known. Grey: from the parts "
          "to the second time; to the left, parts overlap, to the right, something else adds time. Purple: 95 % intervals.",
      .spec = single_plot(waterfall.view()),
      .table = waterfall.table("how it is known")};
}

}  // namespace

Plot account_plot(const Account& account) {
  return waterfall_between(account, explain::name_of(account), "time of one launch", account.is_of_trace());
}

Plot total_plot(const AccountTotal& total, bool is_of_trace) {
  return waterfall_between(total, fmt::format("all {} calls", total.calls), "time of all calls", is_of_trace);
}

namespace {

constexpr int kLongestPart = 300, kRowHeight = 30;  // in pixels
constexpr std::string_view kLevel = "measured", kSlower = "slower", kFaster = "faster",
                           kRest = "overlap or unexplained";

Json kind_color() {
  return category(
      "kind", "",
      Json{{"title", nullptr},
           {"scale",
            {{"domain", {kLevel, kSlower, kFaster, kRest}}, {"range", {kBlue, kRed, kGreen, kGrey}}}}});
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

void Waterfall::add_rest(const RatioEstimate& ratio, Nanoseconds level) {
  const std::string name(explain::rest_name(ratio, rows_.size() > 1));
  add_step(name, ratio, level, kRest, "the way from the parts to the next level");
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
  const Json scale{{"scale",
                    {{"domain", {rounded(least - 0.04 * span), rounded(most)}},
                     {"range", {0, {{"expr", "width - 90"}}}},
                     {"nice", false}}}};
  const Json y = names_axis("part", names, kLongestPart);
  const std::string title = unit_.axis(of_what_);
  const auto x = [&](std::string_view field) { return quantity(field, title, scale); };
  const Json tips = tooltip({{"part", "part"},
                             {"change", "change"},
                             {"end", "reached, " + unit_.name},
                             {"low", "interval from, " + unit_.name},
                             {"high", "to, " + unit_.name},
                             {"source", "by"}});
  Json joined{{"name", "joints"},
              {"data", data_of(joints)},
              {"mark", {{"type", "rule"}, {"color", kGrey}, {"strokeDash", {2, 3}}}},
              {"encoding", {{"y", y}, {"y2", {{"field", "next"}}}, {"x", x("end")}}}};
  Json bars{{"name", "parts"},
            {"data", data_of(parts)},
            {"mark", {{"type", "bar"}, {"height", 16}}},
            {"encoding",
             {{"y", y},
              {"x", x("begin")},
              {"x2", {{"field", "end"}}},
              {"color", kind_color()},
              {"opacity",
               {{"condition", {{"test", fmt::format("datum.kind === '{}'", kRest)}, {"value", 0.35}}},
                {"value", 0.75}}},
              {"tooltip", tips}}}};
  Json intervals{{"name", "intervals"},
                 {"data", data_of(all)},
                 {"mark", {{"type", "rule"}, {"size", 2}, {"color", kPurple}}},
                 {"encoding", {{"y", y}, {"x", x("low")}, {"x2", {{"field", "high"}}}, {"tooltip", tips}}}};
  Json points{{"name", "levels"},
              {"data", data_of(levels)},
              {"mark", {{"type", "point"}, {"filled", true}, {"size", 110}, {"opacity", 1}}},
              {"encoding", {{"y", y}, {"x", x("end")}, {"color", kind_color()}, {"tooltip", tips}}}};
  Json words{{"name", "changes"},
             {"data", data_of(all)},
             {"mark", {{"type", "text"}, {"align", "left"}, {"dx", 10}, {"color", kGrey}, {"fontSize", 12}}},
             {"encoding", {{"y", y}, {"x", x("right")}, {"text", {{"field", "words"}}}}}};
  return Json{{"height", height_of(names, kRowHeight)}, {"layer", {joined, bars, intervals, points, words}}};
}

std::vector<TableColumn> Waterfall::table(std::string_view sources) const {
  TableColumn parts = text_column("part"), from = number_column(unit_.axis("from")),
              to = number_column(unit_.axis("to")), low = number_column("interval from"),
              high = number_column("to"), changes = number_column("change"),
              by = text_column(std::string(sources));
  for (const Row& row : rows_) {
    parts.cells.push_back(row.name);
    from.cells.push_back(row.kind == kLevel ? "" : cell(unit_.of(row.begin)));
    to.cells.push_back(cell(unit_.of(row.end)));
    low.cells.push_back(cell(unit_.of(row.low)));
    high.cells.push_back(cell(unit_.of(row.high)));
    changes.cells.push_back(row.kind == kLevel ? "" : row.shown);
    by.cells.push_back(row.source);
  }
  return {parts, from, to, low, high, changes, by};
}

}  // namespace jitterscope::report
