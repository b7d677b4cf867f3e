// Effects with their intervals, the margin and the verdicts; what each process said.
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

struct EffectRow {
  std::string name;
  const RatioEstimate* ratio;
  statistics::EffectVerdict verdict;
  const std::vector<double>* processes = nullptr;
};

std::string compared_name(const ComparisonRecord& record, const Comparison& comparison) {
  const bool one_alternative = record.alternatives.size() <= 2;
  const std::string subject = to_string(comparison.second.subject);
  const bool several_subjects = std::ranges::any_of(record.comparisons, [&](const Comparison& each) {
    return each.alternative == comparison.alternative && to_string(each.second.subject) != subject;
  });
  std::string name = !comparison.layers.empty() ? comparison.layers.front() : several_subjects ? subject : "";
  if (name.empty() || !one_alternative) {
    name += (name.empty() ? "" : ": ") + record.alternatives[comparison.alternative];
  }
  const std::string condition = condition_of(record, comparison);
  return condition.empty() ? name : name + ", " + condition;
}

double distance(const EffectRow& row) { return std::abs(row.ratio->ratio - 1.0); }

std::vector<EffectRow> effect_rows(const ComparisonRecord& record) {
  std::vector<EffectRow> rows, layers;
  for (const TotalComparison& total : record.totals) {
    rows.push_back({fmt::format("all together: {}, {} {}", record.alternatives[total.alternative],
                                to_string(total.cache), to_string(total.load)),
                    &total.time, total.verdict});
  }
  for (const Comparison& comparison : record.comparisons) {
    if (!comparison.failure.empty()) continue;
    layers.push_back({compared_name(record, comparison), &comparison.time, comparison.verdict,
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

}  // namespace

std::vector<Plot> comparison_plots(const ComparisonRecord& record) {
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
  if (effects.empty()) return {};
  const Json y =
      category("name", "", parsed(R"({"title": null, "sort": null, "axis": {"labelLimit": 320}})"));
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
  const std::vector<Json> drawn =
      effect_layers(effects, y, quantity("low", "time against the first, %"), color,
                    tooltip({{"name", "compared"}, {"shown", "change"}, {"verdict", "verdict"}}));
  const std::string first = record.alternatives.empty() ? record.title : record.alternatives.front();
  Json layers = Json::array({band});
  if (!processes.empty()) layers.push_back(dots);
  for (const Json& layer : drawn) layers.push_back(layer);
  return {Plot{.id = "effects",
               .title = "Against " + first,
               .caption = fmt::format(
                   "Points and bars: the change in time with its 95 % interval; above zero is slower. Grey: "
                   "the margin of {:g} % within which two are the same, and what each process said.",
                   margin),
               .spec = single_plot(Json{{"height", {{"step", 26}}}, {"layer", layers}}),
               .table = {names, changes, low, high, verdicts}}};
}

}  // namespace jitterscope::report
