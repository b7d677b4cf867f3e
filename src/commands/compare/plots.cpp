#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>

#include <fmt/format.h>

#include "base/names.hpp"
#include "base/quantity_text.hpp"
#include "commands/compare/record.hpp"
#include "output/cells.hpp"
#include "output/comparison_rows.hpp"
#include "report/drawing.hpp"
#include "statistics/statistics.hpp"

// Plots effects with intervals, margin, verdicts and each process' ratio; rates of launches; rounds; the
// times of several records.

namespace jitterscope::report {

/// Plots the times of files that were compared, a row for each, and a view for each operation. Returns
/// nullopt for other comparisons.
std::optional<Plot> joint_plot(const ComparisonRecord& record);

namespace {

constexpr std::size_t kMostRows = 80;
constexpr int kLongestName = 320;  // in pixels

struct EffectRow {
  std::string name;
  const RatioEstimate* ratio;
  statistics::EffectVerdict verdict;
  const std::vector<double>* processes = nullptr;
};

// `subject` is the name in the tables: a network's layer, or what tells an operation from the others.
std::string compared_name(const ComparisonRecord& record, const Comparison& comparison,
                          const std::string& subject) {
  const bool one_alternative = record.alternatives.size() <= 2;
  const bool several_subjects = std::ranges::any_of(record.comparisons, [&](const Comparison& each) {
    return to_string(each.first.subject) != to_string(comparison.first.subject);
  });
  std::string name = !comparison.layers.empty() || several_subjects ? subject : "";
  if (name.empty() || !one_alternative) {
    name += (name.empty() ? "" : ": ") + record.alternatives[comparison.alternative];
  }
  const std::string condition = condition_of(record, comparison);
  return condition.empty() ? name : name + ", " + condition;
}

std::vector<std::string> subjects_of(const ComparisonRecord& record) {
  std::vector<const Comparison*> rows;
  for (const Comparison& comparison : record.comparisons) rows.push_back(&comparison);
  return row_labels(rows);
}

double distance(const EffectRow& row) { return std::abs(row.ratio->ratio - 1.0); }

std::vector<EffectRow> effect_rows(const ComparisonRecord& record) {
  std::vector<EffectRow> rows, layers;
  for (const TotalComparison& total : record.totals) {
    rows.push_back(
        {fmt::format("{}: {}, {} {}", is_whole(record, total) ? "all together" : "layers in common",
                     record.alternatives[total.alternative], to_string(total.cache), to_string(total.load)),
         &total.time, total.verdict});
  }
  const std::vector<std::string> subjects = subjects_of(record);
  for (std::size_t i = 0; i < record.comparisons.size(); ++i) {
    const Comparison& comparison = record.comparisons[i];
    if (!comparison.failure.empty() || is_wrong(comparison)) continue;
    layers.push_back({compared_name(record, comparison, subjects[i]), &comparison.time, comparison.verdict,
                      &comparison.process_ratios});
  }
  if (!record.totals.empty()) {
    std::ranges::stable_sort(
        layers, [](const EffectRow& a, const EffectRow& b) { return distance(a) > distance(b); });
  }
  layers.resize(std::min(layers.size(), kMostRows));
  rows.insert(rows.end(), layers.begin(), layers.end());
  return rows;
}

struct RateRow {
  std::string name;
  const ComparedSide* side;

  // Returns the time of one load, or bytes or additions per second. Rates fall with time: their ends swap.
  double of(Nanoseconds time) const {
    const double count = side->amount->count;
    return side->amount->unit == Amount::Unit::loads ? time.value() / count : count / (time.value() * 1e-9);
  }
};

// Returns each alternative once, with the first.
std::vector<RateRow> rate_rows(const ComparisonRecord& record, Amount::Unit unit) {
  std::vector<RateRow> rows;
  const std::vector<std::string> subjects = subjects_of(record);
  const bool several_subjects =
      !subjects.empty() && std::ranges::count(subjects, subjects.front()) != std::ranges::ssize(subjects);
  const auto add = [&](std::size_t i, const ComparedSide& side, std::size_t alternative) {
    if (!side.amount || side.amount->unit != unit || !(side.time.median.value() > 0.0)) return;
    std::string name =
        (several_subjects ? subjects[i] + ": " : std::string()) + record.alternatives[alternative];
    const std::string condition = condition_of(record, record.comparisons[i]);
    if (!condition.empty()) name += ", " + condition;
    if (std::ranges::find(rows, name, &RateRow::name) == rows.end()) rows.push_back({name, &side});
  };
  for (std::size_t i = 0; i < record.comparisons.size(); ++i) {
    const Comparison& comparison = record.comparisons[i];
    if (!comparison.failure.empty() || is_wrong(comparison)) continue;
    add(i, comparison.first, 0);
    add(i, comparison.second, comparison.alternative);
  }
  return rows;
}

Json rate_view(const std::vector<RateRow>& rows, Amount::Unit unit, int width) {
  double most = 0.0, least = rows.front().of(rows.front().side->time.median);
  for (const RateRow& row : rows) {
    most = std::max(most, row.of(row.side->time.median));
    least = std::min(least, row.of(row.side->time.median));
  }
  const bool of_loads = unit == Amount::Unit::loads;
  const RateUnit shown = of_loads ? RateUnit{"ns a load", 1.0}
                                  : rate_unit_for(most, unit == Amount::Unit::bytes ? "B/s" : " additions/s");
  constexpr double kWide = 8.0;
  const bool is_log = most > kWide * least;
  Json values = Json::array();
  std::vector<std::string> names;
  for (const RateRow& row : rows) {
    const TimeEstimate& time = row.side->time;
    const bool known = has_interval(time) && time.low.value() > 0.0;
    const double ends[] = {row.of(known ? time.low : time.median), row.of(known ? time.high : time.median)};
    names.push_back(row.name);
    values.push_back(Json{{"name", row.name},
                          {"rate", shown.of(row.of(time.median))},
                          {"low", shown.of(std::min(ends[0], ends[1]))},
                          {"high", shown.of(std::max(ends[0], ends[1]))},
                          {"shown", amount_text(*row.side)}});
  }
  return filled(R"({
    "width": "$width", "height": "$height", "data": "$rows",
    "layer": [
      {"name": "intervals", "mark": {"type": "rule", "size": 3, "color": "$blue"},
       "encoding": {"y": "$y", "x": "low:Q", "x2": "high"}},
      {"name": "rates", "mark": {"type": "point", "filled": true, "size": 60, "color": "$blue"},
       "encoding": {"y": "$y", "x": "$x", "tooltip": [["name", "of"], ["shown", "median"]]}}
    ]
  })",
                "width", width, "height", height_of(names, 26), "rows", values, "y",
                names_axis("name", names, kLongestName), "x",
                filled(is_log ? R"({"field": "rate:Q", "title": "$unit", "scale": {"type": "log"}})"
                              : R"({"field": "rate:Q", "title": "$unit"})",
                       "unit", shown.name));
}

// Plots the rates of launches for studies that count their work.
std::optional<Plot> rates_plot(const ComparisonRecord& record) {
  std::vector<TableColumn> table = columns_of({"of", ">rate"});
  std::vector<std::pair<Amount::Unit, std::vector<RateRow>>> views;
  for (const Amount::Unit unit : {Amount::Unit::loads, Amount::Unit::bytes, Amount::Unit::additions}) {
    std::vector<RateRow> rows = rate_rows(record, unit);
    for (const RateRow& row : rows) add_row(table, {row.name, amount_text(*row.side)});
    if (!rows.empty()) views.emplace_back(unit, std::move(rows));
  }
  if (views.empty()) return std::nullopt;
  Json drawn = Json::array();
  for (const auto& [unit, rows] : views) {
    drawn.push_back(rate_view(rows, unit, width_beside(table[0].cells, kLongestName)));
  }
  return Plot{.id = "rates",
              .title = "Rates",
              .caption = "Median times of launches. Bars: 95 % intervals.",
              .spec = stacked_plots(std::move(drawn)),
              .table = std::move(table)};
}

std::optional<Plot> effects_plot(const ComparisonRecord& record) {
  Json effects = Json::array(), processes = Json::array();
  std::vector<TableColumn> table = columns_of({"compared", ">change", ">from", ">to", "verdict"});
  for (const EffectRow& row : effect_rows(record)) {
    effects.push_back(Json{{"name", row.name},
                           {"change", percent_change(row.ratio->ratio)},
                           {"low", percent_change(row.ratio->low)},
                           {"high", percent_change(row.ratio->high)},
                           {"verdict", to_string(row.verdict)},
                           {"shown", change_with_interval(*row.ratio)}});
    const auto shown = [](double ratio) { return change_text(ratio - 1.0); };
    add_row(table, {row.name, shown(row.ratio->ratio), shown(row.ratio->low), shown(row.ratio->high),
                    to_string(row.verdict)});
    if (row.processes == nullptr || row.processes->size() < 2) continue;
    for (std::size_t i = 0; i < row.processes->size(); ++i) {
      processes.push_back(
          Json{{"name", row.name}, {"process", i + 1}, {"change", percent_change((*row.processes)[i])}});
    }
  }
  if (effects.empty() || has_unlike_amounts(record)) return std::nullopt;
  const std::vector<std::string>& names = table[0].cells;
  const double margin = record.margin * 100.0;
  const Json y = names_axis("name", names, kLongestName);
  const char* axis = record.baseline ? "time against the baseline, %" : "time against the first, %";
  // The records of a gate and of two files have no paired processes.
  const bool are_paired = record.processes_asked > 0 && !record.baseline;
  const std::string first = record.alternatives.empty() ? record.title : record.alternatives.front();
  const Json drawn = effect_layers(effects, channels(R"({
    "y": "$y", "x": {"field": "low:Q", "title": "$axis", "scale": {"padding": 16}},
    "color": {"field": "verdict:N", "title": null, "scale": {"domain": ["faster", "slower", "same", "undecided"],
                                                             "range": ["$green", "$red", "$blue", "$grey"]}},
    "tooltip": [["name", "compared"], ["shown", "change"], ["verdict", "verdict"]]
  })",
                                                     "y", y, "axis", axis));
  const Json view = filled(R"({
    "height": "$height",
    "layer": [
      {"name": "margin", "data": [{"low": "$from", "high": "$to"}],
       "mark": {"type": "rect", "color": "$grey", "opacity": 0.18}, "encoding": {"x": "low:Q", "x2": "high"}},
      {"name": "processes", "data": "$processes", "mark": {"type": "tick", "color": "$grey", "opacity": 0.8, "size": 12},
       "encoding": {"y": "$y", "x": "change:Q", "tooltip": [["process", "process"], ["change", "change, %"]]}},
      "$effects"
    ]
  })",
                           "height", height_of(names, 26), "from", -margin, "to", margin, "processes",
                           processes, "y", y, "effects", drawn);
  return Plot{
      .id = "effects",
      .title = "Against " + first,
      .caption = fmt::format(
          "Points: change of the time. Bars: 95 % intervals. Right of zero is slower. Grey: the margin "
          "of {:g} % within which two count as the same{}.",
          margin,
          processes.empty() ? ""
          : are_paired      ? ", and what each process said"
                            : ", and each process of the second against the mean of the first's"),
      .spec = single_plot(view),
      .table = std::move(table)};
}

}  // namespace

std::vector<Plot> plots_of(const ComparisonRecord& record) {
  std::vector<Plot> plots;
  for (auto& plot :
       {joint_plot(record), effects_plot(record), rates_plot(record), compared_distribution_plot(record)}) {
    if (plot) plots.push_back(*plot);
  }
  return plots;
}

// Below: the rounds of compared sides in a stack over one axis.

namespace {

constexpr std::size_t kMostViews = 9;    // a reader scrolls past more
constexpr std::size_t kLeastRounds = 6;  // fewer have no interval either

std::vector<double> sorted_values(const std::vector<Nanoseconds>& times) {
  std::vector<double> values;
  for (const Nanoseconds time : times) values.push_back(time.value());
  std::ranges::sort(values);
  return values;
}

std::vector<double> sorted_times(const ComparedSide& side) { return sorted_values(side.rounds); }

// Older files have only rounds.
const std::vector<Nanoseconds>& densest(const ComparedSide& side) {
  return side.launches.empty() ? side.rounds : side.launches;
}

// Avoids empty bins between few values, and between the steps of a timer.
double narrowest_bin(const std::vector<double>& sorted) {
  const double spread = sorted.back() - sorted.front();
  double step = spread;
  for (std::size_t i = 1; i < sorted.size(); ++i) {
    if (sorted[i] > sorted[i - 1]) step = std::min(step, sorted[i] - sorted[i - 1]);
  }
  return std::max(step, spread / (2.0 * std::sqrt(static_cast<double>(sorted.size()))));
}

DrawnTimes drawn_side(const ComparedSide& side, const std::string& name, const TimeRange& range) {
  const std::vector<double> sorted = sorted_times(side), dense = sorted_values(densest(side));
  DrawnTimes drawn{.title = name,
                   .subtitle = {},
                   .of_what = side.launches.empty() ? "rounds" : "launches",
                   .bins = side.launches.empty() ? "bins" : "launches",
                   .density = density_of(dense, range, narrowest_bin(dense)),
                   .rounds = {},
                   .time = side.time,
                   .modes = {}};
  for (std::size_t i = 0; i < side.rounds.size(); ++i) drawn.rounds.push_back({i + 1, side.rounds[i]});
  const std::vector<statistics::ModeEstimate> modes = statistics::find_modes(sorted);
  if (modes.size() > 1) {
    for (const auto& mode : modes) drawn.modes.push_back({Nanoseconds(mode.location), mode.weight});
  }
  const std::int64_t kept = std::ssize(side.rounds);
  drawn.subtitle = estimate_text(side.time) + "; " + counted(kept, "round");
  if (side.time.rounds > kept) drawn.subtitle += fmt::format(" of {}", side.time.rounds);
  if (drawn.density.outside > 0)
    drawn.subtitle +=
        fmt::format(", {} of {} launches beyond the edges", drawn.density.outside, dense.size());
  if (drawn.modes.size() > 1) drawn.subtitle += fmt::format("; {} modes, dashed", drawn.modes.size());
  return drawn;
}

bool has_distribution(const Comparison& comparison) {
  return comparison.failure.empty() && !is_wrong(comparison) &&
         comparison.first.rounds.size() >= kLeastRounds && comparison.second.rounds.size() >= kLeastRounds;
}

struct NamedSide {
  std::size_t alternative;
  const ComparedSide* side;
};

// Alternatives with the one that they are compared with, which is drawn once.
struct SidesTogether {
  std::string subject;
  std::vector<NamedSide> sides;  // the first is the one that the others are compared with
  std::size_t pairs() const { return sides.size() - 1; }
};

std::vector<SidesTogether> sides_to_draw(const std::vector<const Comparison*>& pairs,
                                         const std::vector<std::string>& subjects) {
  std::vector<SidesTogether> all;
  std::size_t views = 0;
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const Comparison& pair = *pairs[i];
    auto known = std::ranges::find_if(all, [&](const SidesTogether& each) {
      return each.subject == subjects[i] && each.sides.front().side->rounds == pair.first.rounds;
    });
    const std::size_t more = known == all.end() ? 2 : 1;
    if (views + more > kMostViews) continue;
    views += more;
    if (known == all.end()) known = all.insert(all.end(), SidesTogether{subjects[i], {{0, &pair.first}}});
    known->sides.push_back({pair.alternative, &pair.second});
  }
  return all;
}

// Includes the interval, which would otherwise widen one axis more than the other.
TimeRange range_of_side(const ComparedSide& side) {
  TimeRange range = range_of(sorted_values(densest(side)), side.rounds);
  if (has_interval(side.time)) range.include({side.time.low.value(), side.time.high.value()});
  return range;
}

// False if one side takes so much longer that a shared axis would squeeze the other.
bool share_an_axis(const ComparedSide& one, const ComparedSide& other) {
  constexpr double kAlike = 1.5;
  return std::max(one.time.median, other.time.median) <=
         kAlike * std::min(one.time.median, other.time.median);
}

class ComparedDistributions {
 public:
  explicit ComparedDistributions(const ComparisonRecord& record) : record_(record) {}

  void add(const SidesTogether& together, bool name_subject) {
    const ComparedSide& first = *together.sides.front().side;
    TimeRange shared = range_of_side(first);
    for (const NamedSide& each : together.sides) {
      if (share_an_axis(first, *each.side)) shared.include(range_of_side(*each.side));
    }
    for (const NamedSide& each : together.sides) {
      std::string name = record_.alternatives[each.alternative];
      if (name_subject) name = together.subject + ": " + name;
      if (has_several_conditions(record_)) name += ", " + cache_and_load(each.side->conditions);
      const bool shares = share_an_axis(first, *each.side);
      add_side(*each.side, name, shares ? shared : range_of_side(*each.side),
               unit_for(shares ? first.time.median : each.side->time.median));
    }
  }

  const Json& views() const { return views_; }
  const std::vector<TableColumn>& table() const { return table_; }

 private:
  void add_side(const ComparedSide& side, const std::string& name, const TimeRange& range,
                const TimeUnit& unit) {
    views_.push_back(distribution_view(drawn_side(side, name, range), unit));
    const std::vector<double> probabilities = {0.0, 0.05, 0.25, 0.5, 0.75, 0.95, 1.0};
    const std::vector<double> values = statistics::quantiles(sorted_times(side), probabilities);
    const auto shown = [&](std::size_t i) { return time_text(Nanoseconds(values[i]), 1e-3); };
    add_row(table_, {name, shown(0), shown(1), shown(2), shown(3), shown(4), shown(5), shown(6),
                     std::to_string(side.rounds.size())});
  }

  const ComparisonRecord& record_;
  Json views_ = Json::array();
  std::vector<TableColumn> table_ =
      columns_of({"of", ">least", ">5 %", ">25 %", ">median", ">75 %", ">95 %", ">most", ">rounds"});
};

}  // namespace

std::optional<Plot> compared_distribution_plot(const ComparisonRecord& record) {
  std::vector<const Comparison*> pairs;
  for (const Comparison& comparison : record.comparisons) {
    if (has_distribution(comparison)) pairs.push_back(&comparison);
  }
  if (pairs.empty()) return std::nullopt;
  const std::vector<std::string> subjects = row_labels(pairs);
  const bool several =
      std::ranges::any_of(subjects, [&](const std::string& each) { return each != subjects.front(); });
  ComparedDistributions drawn(record);
  std::size_t drawn_pairs = 0;
  for (const SidesTogether& together : sides_to_draw(pairs, subjects)) {
    drawn.add(together, several);
    drawn_pairs += together.pairs();
  }
  std::string caption =
      "Orange: rounds of all processes, each the median of launches in a row. Blue: histogram of single "
      "launches. Green: the time that is compared, with its 95 % interval.";
  if (drawn_pairs < pairs.size()) caption += fmt::format(" {} of {} pairs.", drawn_pairs, pairs.size());
  return Plot{.id = "distribution",
              .title = "Distribution of times",
              .caption = std::move(caption),
              .spec = stacked_plots(drawn.views()),
              .table = drawn.table()};
}

// Below: the times of several files: one operation, or the total of a network above the layers that changed.

namespace {

constexpr std::size_t kMostOfNetwork = 8;  // layers below the total

// Returns the files' names without folders and endings if they differ in them, else as they were typed.
std::vector<std::string> file_labels(const ComparisonRecord& record) {
  std::vector<std::string> labels;
  for (const std::string& file : record.alternatives) {
    std::string name = std::filesystem::path(file).filename().string();
    name = name.substr(0, name.find(".json"));
    labels.push_back(name.empty() ? file : name);
  }
  const std::set<std::string> different(labels.begin(), labels.end());
  if (different.size() < labels.size()) labels = record.alternatives;
  std::vector<std::string> apart;
  for (const std::string& label : labels) apart.push_back(name_apart(label, apart));
  return apart;
}

struct JointRow {
  std::size_t alternative;
  std::string conditions;
  TimeEstimate time;
  std::string change;  // against the first record; empty for itself
};
struct JointView {
  std::string title;
  std::vector<JointRow> rows;
};

// Puts the first record's row before those of the others, once for each of the conditions.
void add_rows(JointView& view, std::size_t alternative, const std::string& conditions,
              const TimeEstimate& first, const TimeEstimate& second, const RatioEstimate& ratio) {
  const bool is_known = std::ranges::any_of(
      view.rows, [&](const JointRow& row) { return row.alternative == 0 && row.conditions == conditions; });
  if (!is_known) view.rows.push_back({0, conditions, first, {}});
  view.rows.push_back({alternative, conditions, second, change_with_interval(ratio)});
}

std::vector<JointView> joint_views(const ComparisonRecord& record) {
  std::vector<JointView> views;
  const auto view_of = [&](const std::string& title) -> JointView& {
    const auto known = std::ranges::find(views, title, &JointView::title);
    return known == views.end() ? views.emplace_back(JointView{title, {}}) : *known;
  };
  for (const TotalComparison& total : record.totals) {
    add_rows(view_of(is_whole(record, total) ? "all layers" : "layers in common"), total.alternative,
             fmt::format("{} {}", to_string(total.cache), to_string(total.load)), total.first, total.second,
             total.time);
  }
  const std::size_t most = record.totals.empty() ? kMostRows : views.size() + kMostOfNetwork;
  const std::vector<const Comparison*> rows = rows_of_layers(record);
  const std::vector<std::string> labels = row_labels(rows);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const bool is_there = std::ranges::find(views, labels[i], &JointView::title) != views.end();
    if (is_wrong(*rows[i]) || (!is_there && views.size() >= most)) continue;
    add_rows(view_of(labels[i]), rows[i]->alternative, cache_and_load(rows[i]->first.conditions),
             rows[i]->first.time, rows[i]->second.time, rows[i]->time);
  }
  for (JointView& view : views) std::ranges::stable_sort(view.rows, {}, &JointRow::alternative);
  return views;
}

// Names what differs from record to record: "driver (b: 570.1, then 580.2)".
std::string what_differs(const ComparisonRecord& record, const std::vector<std::string>& labels) {
  constexpr std::size_t kShown = 6;
  std::vector<std::string> parts;
  for (const RecordDifference& each : record.differences) {
    if (!each.may_explain) continue;
    const auto value = [](const std::string& text) { return text.empty() ? "none" : one_line(text); };
    add_once(parts, fmt::format("{} ({}{}, then {})", one_line(each.name),
                                labels.size() > 2 ? labels[each.alternative] + ": " : "", value(each.first),
                                value(each.second)));
  }
  if (parts.empty()) return {};
  const std::size_t more = parts.size() - std::min(parts.size(), kShown);
  parts.resize(parts.size() - more);
  return " What differs: " + joined(parts, "; ") + (more > 0 ? fmt::format("; and {} more.", more) : ".");
}

// Returns " (unlike in driver and clock)": a picture has no caption.
std::string unlike_words(const ComparisonRecord& record) {
  constexpr std::size_t kShown = 5;
  std::vector<std::string> names;
  for (const RecordDifference& each : record.differences) {
    if (each.may_explain) add_once(names, one_line(each.name));
  }
  if (names.empty()) return {};
  if (names.size() > kShown) names.resize(kShown), names.emplace_back("more");
  return " (unlike in " + joined(names) + ")";
}

Json joint_view_json(const JointView& view, const std::vector<std::string>& labels,
                     const std::vector<std::string>& conditions, const ComparisonRecord& record, int width) {
  Nanoseconds slowest(0);
  for (const JointRow& row : view.rows) slowest = std::max(slowest, row.time.median);
  const TimeUnit unit = unit_for(slowest);
  Json rows = Json::array();
  for (const JointRow& row : view.rows) {
    const bool known = has_interval(row.time);
    rows.push_back(Json{{"record", labels[row.alternative]},
                        {"file", one_line(record.alternatives[row.alternative])},
                        {"measured", one_line(record.measured[row.alternative])},
                        {"conditions", row.conditions},
                        {"time", unit.of(row.time.median)},
                        {"low", unit.of(known ? row.time.low : row.time.median)},
                        {"high", unit.of(known ? row.time.high : row.time.median)},
                        {"shown", estimate_text(row.time)},
                        {"change", row.change.empty() ? "the first" : row.change}});
  }
  const auto lanes = static_cast<int>(conditions.size());
  return filled(R"({
    "title": "$title", "width": "$width", "height": "$height", "data": "$rows",
    "layer": [
      {"name": "intervals", "mark": {"type": "rule", "size": 3, "opacity": 0.5},
       "encoding": {"y": "$y", "yOffset": "$offset", "color": "$color", "x": "low:Q", "x2": "high"}},
      {"name": "times", "mark": {"type": "point", "filled": true, "size": 60},
       "encoding": {
         "y": "$y", "yOffset": "$offset", "color": "$color",
         "x": {"field": "time:Q", "title": "time, $unit", "scale": {"zero": false}},
         "tooltip": [["file", "record"], ["measured", "measured"], ["conditions", "conditions"], ["shown", "time"],
                     ["change", "against the first"]]}}
    ]
  })",
                "title", view.title, "width", width, "height", height_of(labels, std::max(16, 11 * lanes)),
                "rows", rows, "unit", unit.name, "y", names_axis("record", labels, kLongestName), "offset",
                filled(R"({"field": "conditions", "sort": null})"), "color",
                series_color("conditions", conditions));
}

}  // namespace

std::optional<Plot> joint_plot(const ComparisonRecord& record) {
  if (!is_of_files(record) || has_unlike_amounts(record)) return std::nullopt;
  const std::vector<JointView> views = joint_views(record);
  if (views.empty()) return std::nullopt;
  const std::vector<std::string> labels = file_labels(record);
  std::vector<std::string> conditions;
  std::vector<TableColumn> table =
      columns_of({"of", "record", "measured", "conditions", ">time", ">against the first"});
  for (const JointView& view : views) {
    for (const JointRow& row : view.rows) {
      add_once(conditions, row.conditions);
      add_row(table, {view.title, labels[row.alternative], one_line(record.measured[row.alternative]),
                      row.conditions, estimate_text(row.time), row.change});
    }
  }
  Json drawn = Json::array();
  for (const JointView& view : views)
    drawn.push_back(joint_view_json(view, labels, conditions, record, width_beside(labels, kLongestName)));
  std::string caption =
      "Points: medians of each record, with 95 % intervals as bars; axes do not begin at 0.";
  if (!record.totals.empty()) caption += " Below the total: the layers that change it most.";
  return Plot{.id = "records",
              .title = fmt::format("{} records: {}{}", labels.size(), joined(labels), unlike_words(record)),
              .caption = caption + what_differs(record, labels),
              .spec = stacked_plots(std::move(drawn)),
              .table = std::move(table)};
}

}  // namespace jitterscope::report
