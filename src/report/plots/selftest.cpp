// What a selftest proved: each claim's value with its interval, over the range that its target allows.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/quantity_text.hpp"
#include "output/display_text.hpp"
#include "report/drawing.hpp"
#include "report/plots/record_plots.hpp"

namespace jitterscope::report {
namespace {

using selftest::ProofLine;
using selftest::ProofValue;
using selftest::ValueKind;

constexpr int kLongestClaim = 360;  // pixels

// Lines of one proof whose values count the same have an axis together.
struct ProvedLines {
  std::string proof;
  ValueKind kind;
  std::vector<const ProofLine*> lines;
};

std::vector<ProvedLines> lines_by_proof(const selftest::SelftestRecord& record) {
  std::vector<ProvedLines> groups;
  for (const ProofLine& line : record.lines) {
    if (!line.value || !std::isfinite(line.value->value)) continue;
    const auto same = std::ranges::find_if(groups, [&](const ProvedLines& group) {
      return group.proof == line.group && group.kind == line.value->kind;
    });
    if (same == groups.end()) {
      groups.push_back({line.group, line.value->kind, {&line}});
    } else {
      same->lines.push_back(&line);
    }
  }
  return groups;
}

// What a value is drawn in: an axis' title, and what it is divided by.
struct ProvedUnit {
  std::string title;
  double one = 1.0;

  double of(double value) const { return rounded(value / one); }
};

ProvedUnit unit_of(const ProvedLines& group) {
  double most = 0.0;
  for (const ProofLine* line : group.lines) {
    for (const std::optional<double>& each :
         {std::optional(line->value->value), line->value->low, line->value->high}) {
      if (each) most = std::max(most, std::abs(*each));
    }
    if (line->value->target) most = std::max(most, std::abs(line->value->target->high));
  }
  switch (group.kind) {
    case ValueKind::share: return {"of trials, %", 0.01};
    case ValueKind::seconds: {
      const TimeUnit unit = unit_for(seconds(most));
      return {unit.name, unit.nanoseconds * 1e-9};
    }
    case ValueKind::bytes_per_second: {
      const RateUnit unit = rate_unit_for(most, "B/s");
      return {unit.name, unit.per_second};
    }
    case ValueKind::ratio: {
      constexpr double kSmall = 0.1;  // distances, not ratios near one
      if (most < kSmall) return {"%", 0.01};
      break;
    }
  }
  return {"ratio", 1.0};
}

std::vector<std::string> claims_of(const ProvedLines& group) {
  std::vector<std::string> names;
  for (const ProofLine* line : group.lines) names.push_back(name_apart(line->name, names));
  return names;
}

Json row_of(const ProofLine& line, const std::string& name, const ProvedUnit& unit) {
  const ProofValue& value = *line.value;
  Json row{{"claim", name},
           {"value", unit.of(value.value)},
           {"low", unit.of(value.low.value_or(value.value))},
           {"high", unit.of(value.high.value_or(value.value))},
           {"target", line.target},
           {"measured", line.measured},
           {"verdict", to_string(line.verdict)}};
  if (value.target) {
    row["from"] = unit.of(value.target->low);
    row["to"] = unit.of(value.target->high);
  }
  return row;
}

Json verdict_color() {
  return category(
      "verdict", "",
      Json{{"title", nullptr},
           {"scale", {{"domain", {"passed", "missed", "inconclusive"}}, {"range", {kBlue, kRed, kOrange}}}}});
}

Json proof_view(const ProvedLines& group, int width) {
  const ProvedUnit unit = unit_of(group);
  const std::vector<std::string> names = claims_of(group);
  Json rows = Json::array(), targets = Json::array();
  for (std::size_t i = 0; i < names.size(); ++i) {
    rows.push_back(row_of(*group.lines[i], names[i], unit));
    if (rows.back().contains("from")) targets.push_back(rows.back());
  }
  const Json y = names_axis("claim", names, kLongestClaim);
  const Json x = quantity("value", unit.title, not_from_zero());
  const Json tips =
      tooltip({{"claim", "claim"}, {"target", "must be"}, {"measured", "is"}, {"verdict", "verdict"}});
  Json layers = Json::array();
  if (!targets.empty()) {
    layers.push_back(Json{{"name", "targets"},
                          {"data", data_of(targets)},
                          {"mark", {{"type", "bar"}, {"color", kGreen}, {"opacity", 0.3}, {"height", 12}}},
                          {"encoding",
                           {{"y", y},
                            {"x", quantity("from", unit.title, not_from_zero())},
                            {"x2", {{"field", "to"}}},
                            {"tooltip", tips}}}});
  }
  layers.push_back(Json{{"name", "intervals"},
                        {"data", data_of(rows)},
                        {"mark", {{"type", "rule"}, {"size", 2}}},
                        {"encoding",
                         {{"y", y},
                          {"x", quantity("low", unit.title, not_from_zero())},
                          {"x2", {{"field", "high"}}},
                          {"color", verdict_color()}}}});
  layers.push_back(Json{{"name", "proofs"},
                        {"data", data_of(rows)},
                        {"mark", {{"type", "point"}, {"filled", true}, {"size", 55}, {"opacity", 1}}},
                        {"encoding", {{"y", y}, {"x", x}, {"color", verdict_color()}, {"tooltip", tips}}}});
  return Json{{"title", one_line(group.proof)},
              {"width", width},
              {"height", height_of(names, 18)},
              {"layer", layers}};
}

std::vector<TableColumn> proved_table(const selftest::SelftestRecord& record) {
  TableColumn proofs = text_column("proof"), claims = text_column("of"), targets = text_column("must be"),
              measured = text_column("is"), verdicts = text_column("verdict"), notes = text_column("note");
  for (const ProofLine& line : record.lines) {
    proofs.cells.push_back(line.group);
    claims.cells.push_back(line.name);
    targets.cells.push_back(line.target);
    measured.cells.push_back(line.measured);
    verdicts.cells.emplace_back(to_string(line.verdict));
    notes.cells.push_back(line.note);
  }
  return {proofs, claims, targets, measured, verdicts, notes};
}

}  // namespace

std::vector<Plot> selftest_plots(const selftest::SelftestRecord& record) {
  const std::vector<ProvedLines> groups = lines_by_proof(record);
  if (groups.empty()) return {};
  std::vector<std::string> names;
  std::size_t drawn = 0;
  for (const ProvedLines& group : groups) {
    drawn += group.lines.size();
    for (const ProofLine* line : group.lines) names.push_back(one_line(line->name));
  }
  Json views = Json::array();
  for (const ProvedLines& group : groups) {
    views.push_back(proof_view(group, width_beside(names, kLongestClaim)));
  }
  std::string caption =
      "A point is what was seen, with its interval or range; green is what the target allows. Inconclusive: so few "
      "trials fit the target, and what would refute it as well.";
  const std::size_t others = record.lines.size() - drawn;
  if (others > 0) {
    caption += fmt::format(" {} without a value stand{} in the table alone.",
                           counted(static_cast<std::int64_t>(others), "line"), others == 1 ? "s" : "");
  }
  return {Plot{.id = "proofs",
               .title = "What was proved: " + one_line(record.device.name),
               .caption = std::move(caption),
               .spec = stacked_plots(std::move(views)),
               .table = proved_table(record)}};
}

}  // namespace jitterscope::report
