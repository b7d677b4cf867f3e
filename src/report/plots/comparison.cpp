// Effects with their intervals, the margin and the verdicts, what each process said; what launches do in a
// second.
#include <fmt/format.h>

#include <algorithm>

#include "base/quantity_text.hpp"
#include "output/comparison_cells.hpp"
#include "output/ratio_text.hpp"
#include "report/drawing.hpp"
#include "report/plots/record_plots.hpp"

namespace jitterscope::report {
namespace {

constexpr std::size_t kMostRows = 80;
constexpr int kLongestName = 320;  // pixels

struct EffectRow {
  std::string name;
  const RatioEstimate* ratio;
  statistics::EffectVerdict verdict;
  const std::vector<double>* processes = nullptr;
};

// `subject` as the tables name it: the network's name, or what sets an operation apart from the others.
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

  // Of one load, of all bytes or additions of a second: from a time, so that its ends change places.
  double of(Nanoseconds time) const {
    const double count = side->amount->count;
    return side->amount->unit == Amount::Unit::loads ? time.value() / count : count / (time.value() * 1e-9);
  }
};

// Each alternative once, the first as well.
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
  const Json y = names_axis("name", names, kLongestName);
  const Json x =
      quantity("rate", shown.name, is_log ? parsed(R"({"scale": {"type": "log"}})") : Json::object());
  Json intervals{
      {"name", "intervals"},
      {"mark", {{"type", "rule"}, {"size", 3}, {"color", kBlue}}},
      {"encoding",
       {{"y", y}, {"x", {{"field", "low"}, {"type", "quantitative"}}}, {"x2", {{"field", "high"}}}}}};
  Json points{
      {"name", "rates"},
      {"mark", {{"type", "point"}, {"filled", true}, {"size", 60}, {"color", kBlue}}},
      {"encoding", {{"y", y}, {"x", x}, {"tooltip", tooltip({{"name", "of"}, {"shown", "median"}})}}}};
  return Json{{"width", width},
              {"height", height_of(names, 26)},
              {"data", data_of(values)},
              {"layer", {intervals, points}}};
}

// What launches do in a second, of studies that count it.
std::optional<Plot> rates_plot(const ComparisonRecord& record) {
  TableColumn names = text_column("of"), rates = number_column("rate");
  std::vector<std::pair<Amount::Unit, std::vector<RateRow>>> views;
  for (const Amount::Unit unit : {Amount::Unit::loads, Amount::Unit::bytes, Amount::Unit::additions}) {
    std::vector<RateRow> rows = rate_rows(record, unit);
    for (const RateRow& row : rows) {
      names.cells.push_back(row.name);
      rates.cells.push_back(amount_text(*row.side));
    }
    if (!rows.empty()) views.emplace_back(unit, std::move(rows));
  }
  if (views.empty()) return std::nullopt;
  Json drawn = Json::array();
  for (const auto& [unit, rows] : views) {
    drawn.push_back(rate_view(rows, unit, width_beside(names.cells, kLongestName)));
  }
  return Plot{.id = "rates",
              .title = "Rates",
              .caption = "What launches do, by their median times. Bars: 95 % intervals.",
              .spec = stacked_plots(std::move(drawn)),
              .table = {names, rates}};
}

std::optional<Plot> effects_plot(const ComparisonRecord& record) {
  Json effects = Json::array(), processes = Json::array();
  TableColumn names = text_column("compared"), changes = number_column("change"), low = number_column("from"),
              high = number_column("to"), verdicts = text_column("verdict");
  for (const EffectRow& row : effect_rows(record)) {
    effects.push_back(Json{{"name", row.name},
                           {"change", percent_change(row.ratio->ratio)},
                           {"low", percent_change(row.ratio->low)},
                           {"high", percent_change(row.ratio->high)},
                           {"verdict", to_string(row.verdict)},
                           {"shown", change_with_interval(*row.ratio)}});
    names.cells.push_back(row.name);
    changes.cells.push_back(change_text(row.ratio->ratio - 1.0));
    low.cells.push_back(change_text(row.ratio->low - 1.0));
    high.cells.push_back(change_text(row.ratio->high - 1.0));
    verdicts.cells.emplace_back(to_string(row.verdict));
    if (row.processes == nullptr || row.processes->size() < 2) continue;
    for (std::size_t i = 0; i < row.processes->size(); ++i) {
      processes.push_back(
          Json{{"name", row.name}, {"process", i + 1}, {"change", percent_change((*row.processes)[i])}});
    }
  }
  if (effects.empty() || has_unlike_amounts(record)) return std::nullopt;
  const Json y = names_axis("name", names.cells, kLongestName);
  const Json color = category("verdict", "",
                              Json{{"title", nullptr},
                                   {"scale",
                                    {{"domain", {"faster", "slower", "same", "undecided"}},
                                     {"range", {kGreen, kRed, kBlue, kGrey}}}}});
  const double margin = record.margin * 100.0;
  Json band{{"name", "margin"},
            {"data", data_of(Json::array({Json{{"low", -margin}, {"high", margin}}}))},
            {"mark", {{"type", "rect"}, {"color", kGrey}, {"opacity", 0.18}}},
            {"encoding", {{"x", {{"field", "low"}, {"type", "quantitative"}}}, {"x2", {{"field", "high"}}}}}};
  Json dots{{"name", "processes"},
            {"data", data_of(processes)},
            {"mark", {{"type", "tick"}, {"color", kGrey}, {"opacity", 0.8}, {"size", 12}}},
            {"encoding",
             {{"y", y},
              {"x", {{"field", "change"}, {"type", "quantitative"}}},
              {"tooltip", tooltip({{"process", "process"}, {"change", "change, %"}})}}}};
  const char* axis = record.baseline ? "time against the baseline, %" : "time against the first, %";
  const std::vector<Json> drawn =
      effect_layers(effects, y, quantity("low", axis, parsed(R"({"scale": {"padding": 16}})")), color,
                    tooltip({{"name", "compared"}, {"shown", "change"}, {"verdict", "verdict"}}));
  // A gate's are of two records, as those of two files.
  const bool are_paired = record.processes_asked > 0 && !record.baseline;
  const std::string first = record.alternatives.empty() ? record.title : record.alternatives.front();
  Json layers = Json::array({band});
  if (!processes.empty()) layers.push_back(dots);
  for (const Json& layer : drawn) layers.push_back(layer);
  return Plot{.id = "effects",
              .title = "Against " + first,
              .caption = fmt::format(
                  "Points and bars: the change in time with its 95 % interval; right of zero is slower. "
                  "Grey: the margin of {:g} % within which two are the same{}.",
                  margin,
                  processes.empty() ? ""
                  : are_paired      ? ", and what each process said"
                                    : ", and each process of the second over the mean of the first's"),
              .spec = single_plot(Json{{"height", height_of(names.cells, 26)}, {"layer", layers}}),
              .table = {names, changes, low, high, verdicts}};
}

}  // namespace

std::vector<Plot> comparison_plots(const ComparisonRecord& record) {
  std::vector<Plot> plots;
  for (auto& plot : {effects_plot(record), rates_plot(record), compared_distribution_plot(record)}) {
    if (plot) plots.push_back(*plot);
  }
  return plots;
}

}  // namespace jitterscope::report
