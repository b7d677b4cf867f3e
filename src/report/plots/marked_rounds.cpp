#include "report/plots/marked_rounds.hpp"

#include <algorithm>

#include "report/drawing.hpp"

namespace jitterscope::report {
namespace {

// Half way to the rounds beside it, of the same process.
double begin_of(const std::vector<Round>& rounds, std::size_t round) {
  const bool is_first = round == 0 || rounds[round - 1].process != rounds[round].process;
  const Nanoseconds before = is_first ? rounds[round].started : rounds[round - 1].started;
  return rounded(to_seconds(before + rounds[round].started) / 2.0);
}
double end_of(const std::vector<Round>& rounds, std::size_t round) {
  const bool is_last = round + 1 == rounds.size() || rounds[round + 1].process != rounds[round].process;
  const Nanoseconds after =
      is_last ? rounds[round].started + rounds[round].time() : rounds[round + 1].started;
  return rounded(to_seconds(after + rounds[round].started) / 2.0);
}

// What is known of heat and power has the colour of a round that it held down.
std::string_view color_of_finding(const std::string& id) {
  constexpr std::pair<std::string_view, std::string_view> kColors[] = {{kPowerCap, kOrange},
                                                                       {kThermal, kRed},
                                                                       {"drift", kPurple},
                                                                       {"bimodal", kGreen},
                                                                       {"no_steady_state", kTeal}};
  const auto found = std::ranges::find(kColors, id, &std::pair<std::string_view, std::string_view>::first);
  return found == std::end(kColors) ? kGrey : found->second;
}

}  // namespace

std::vector<MarkedRounds> findings_in(const Result& result, const Measurement& measurement) {
  const auto number = static_cast<std::size_t>(&measurement - result.measurements.data());
  std::vector<MarkedRounds> marked;
  for (const Finding& finding : result.findings) {
    MarkedRounds here{&finding, {}};
    for (const FindingPlace& place : finding.places) {
      if (place.measurement != number) continue;
      for (const RoundRange& range : place.rounds) {
        if (range.first <= range.last && range.last < measurement.rounds.size()) here.rounds.push_back(range);
      }
    }
    if (!here.rounds.empty()) marked.push_back(std::move(here));
  }
  return marked;
}

std::vector<Json> marked_rows(const Measurement& measurement, const std::vector<MarkedRounds>& marked) {
  std::vector<Json> rows;
  const auto lanes = static_cast<double>(marked.size());
  for (std::size_t lane = 0; lane < marked.size(); ++lane) {
    for (const RoundRange& range : marked[lane].rounds) {
      // One range may reach from one process into the next: their rounds began at the same times.
      for (std::size_t first = range.first; first <= range.last;) {
        std::size_t last = first;
        while (last < range.last &&
               measurement.rounds[last + 1].process == measurement.rounds[first].process) {
          ++last;
        }
        rows.push_back(Json{{"finding", marked[lane].finding->id},
                            {"headline", marked[lane].finding->headline},
                            {"from", begin_of(measurement.rounds, first)},
                            {"to", end_of(measurement.rounds, last)},
                            {"first", first + 1},
                            {"last", last + 1},
                            {"top", rounded(1.0 - static_cast<double>(lane) / lanes)},
                            {"bottom", rounded(1.0 - static_cast<double>(lane + 1) / lanes)}});
        first = last + 1;
      }
    }
  }
  return rows;
}

Json finding_color(const std::vector<std::string>& ids) {
  Json range = Json::array();
  for (const std::string& id : ids) range.push_back(color_of_finding(id));
  return category("finding", "finding", Json{{"scale", {{"domain", ids}, {"range", range}}}});
}

Json marks_layer(const std::vector<Json>& rows, const Json& color, Json x) {
  x["field"] = "from";
  const Json lane =
      parsed(R"({"field": "bottom", "type": "quantitative", "scale": {"domain": [0, 1]}, "axis": null})");
  Json edge = color;
  edge["legend"] = nullptr;
  return Json{{"data", data_of(rows)},
              {"name", "findings"},
              {"mark", {{"type", "rect"}, {"opacity", 0.28}}},
              {"encoding",
               {{"x", x},
                {"x2", {{"field", "to"}}},
                {"y", lane},
                {"y2", {{"field", "top"}}},
                {"color", color},
                {"tooltip", tooltip({{"finding", "finding"},
                                     {"headline", "what"},
                                     {"first", "from round"},
                                     {"last", "to round"}})}}}};
}

std::string findings_of(std::size_t round, const std::vector<MarkedRounds>& marked) {
  std::string text;
  for (const MarkedRounds& each : marked) {
    const bool holds = std::ranges::any_of(each.rounds, [round](const RoundRange& range) {
      return range.first <= round && round <= range.last;
    });
    if (holds) text += (text.empty() ? "" : ", ") + each.finding->id;
  }
  return text;
}

}  // namespace jitterscope::report
