#include "report/plots/density.hpp"

#include <algorithm>

namespace jitterscope::report {
namespace {

constexpr int kBins = 60, kHeight = 130, kTickHeight = 14;
constexpr double kOutside = 0.005;  // of the times at either end

Json bins_of(const Density& density, const TimeUnit& unit) {
  Json rows = Json::array();
  for (std::size_t bin = 0; bin < density.shares.size(); ++bin) {
    rows.push_back(Json{{"from", unit.of(Nanoseconds(density.edge(bin)))},
                        {"to", unit.of(Nanoseconds(density.edge(bin + 1)))},
                        {"share", rounded(density.shares[bin])}});
  }
  return rows;
}

Json rounds_of(const DrawnTimes& drawn, const TimeUnit& unit) {
  Json rows = Json::array();
  for (const DrawnRound& round : drawn.rounds) {
    rows.push_back(Json{{"round", round.number}, {"time", unit.of(round.time)}});
  }
  return rows;
}

}  // namespace

void TimeRange::include(const TimeRange& other) {
  low = std::min(low, other.low);
  high = std::max(high, other.high);
}

TimeRange range_of(std::span<const double> sorted_times, std::span<const Nanoseconds> always) {
  const auto outside = static_cast<std::size_t>(kOutside * static_cast<double>(sorted_times.size()));
  TimeRange range{sorted_times[outside], sorted_times[sorted_times.size() - 1 - outside]};
  for (const Nanoseconds time : always) range.include({time.value(), time.value()});
  return range;
}

Density density_of(std::span<const double> sorted_times, const TimeRange& range, double narrowest) {
  Density density;
  const double margin = std::max((range.high - range.low) * 0.02, range.high * 1e-6);
  density.low = range.low - margin;
  density.high = range.high + margin;
  // No number where a record holds times that are none.
  const double most = (density.high - density.low) / narrowest;
  const auto bins = static_cast<std::size_t>(most >= 1.0       ? std::min<double>(most, kBins)
                                             : narrowest > 0.0 ? 1
                                                               : kBins);
  density.shares.assign(bins, 0.0);
  density.values = std::ssize(sorted_times);
  for (const double time : sorted_times) {
    const double place = (time - density.low) / (density.high - density.low);
    if (!(place >= 0.0 && place < 1.0)) {
      ++density.outside;
      continue;
    }
    density.shares[static_cast<std::size_t>(place * static_cast<double>(bins))] +=
        1.0 / static_cast<double>(sorted_times.size());
  }
  return density;
}

std::vector<TableColumn> quantile_columns() {
  std::vector<TableColumn> columns;
  for (const char* heading : {"least", "5 %", "25 %", "median", "75 %", "95 %", "most"}) {
    columns.push_back(number_column(heading));
  }
  return columns;
}

Json distribution_view(const DrawnTimes& drawn, const TimeUnit& unit) {
  Json from = quantity("from", unit.axis("time of one launch"),
                       parsed(R"({"bin": "binned", "scale": {"zero": false}})"));
  Json share =
      quantity("share", "share of " + drawn.of_what, parsed(R"({"axis": {"format": "~%", "tickCount": 3}})"));
  Json bars{{"data", data_of(bins_of(drawn.density, unit))},
            {"name", drawn.bins},
            {"mark", {{"type", "bar"}, {"color", kBlue}, {"opacity", 0.45}, {"binSpacing", 0}}},
            {"encoding",
             {{"x", from},
              {"x2", {{"field", "to"}}},
              {"y", share},
              {"tooltip", tooltip({{"from", "from, " + unit.name},
                                   {"to", "to, " + unit.name},
                                   {"share", "share of " + drawn.of_what}})}}}};
  Json ticks{
      {"data", data_of(rounds_of(drawn, unit))},
      {"name", "rounds"},
      {"mark",
       {{"type", "tick"}, {"color", kOrange}, {"opacity", 0.7}, {"thickness", 1.5}, {"size", kTickHeight}}},
      {"encoding",
       {{"x", {{"field", "time"}, {"type", "quantitative"}}},
        {"y", {{"value", kHeight - kTickHeight / 2}}},
        {"tooltip", tooltip({{"round", "round"}, {"time", "median of its launches, " + unit.name}})}}}};
  Json layers = Json::array({bars, ticks});
  if (has_interval(drawn.time)) {
    layers.push_back(Json{
        {"data",
         data_of(Json::array({Json{{"low", unit.of(drawn.time.low)}, {"high", unit.of(drawn.time.high)}}}))},
        {"name", "interval"},
        {"mark", {{"type", "rect"}, {"color", kGreen}, {"opacity", 0.25}}},
        {"encoding",
         {{"x", {{"field", "low"}, {"type", "quantitative"}}},
          {"x2", {{"field", "high"}}},
          {"tooltip", tooltip({{"low", "interval from, " + unit.name}, {"high", "to, " + unit.name}})}}}});
  }
  layers.push_back(Json{{"data", data_of(Json::array({Json{{"median", unit.of(drawn.time.median)}}}))},
                        {"name", "median"},
                        {"mark", {{"type", "rule"}, {"color", kGreen}, {"size", 2}}},
                        {"encoding",
                         {{"x", {{"field", "median"}, {"type", "quantitative"}}},
                          {"tooltip", tooltip({{"median", "median, " + unit.name}})}}}});
  if (drawn.modes.size() > 1) {
    Json modes = Json::array();
    for (const Mode& mode : drawn.modes) {
      modes.push_back(Json{{"mode", unit.of(mode.location)}, {"weight", rounded(mode.weight)}});
    }
    layers.push_back(Json{{"data", data_of(modes)},
                          {"name", "modes"},
                          {"mark", {{"type", "rule"}, {"color", kRed}, {"strokeDash", {4, 3}}}},
                          {"encoding",
                           {{"x", {{"field", "mode"}, {"type", "quantitative"}}},
                            {"tooltip", tooltip({{"mode", "mode at, " + unit.name},
                                                 {"weight", "share of " + drawn.of_what}})}}}});
  }
  return Json{{"title", {{"text", drawn.title}, {"subtitle", drawn.subtitle}}},
              {"height", kHeight},
              {"layer", layers}};
}

}  // namespace jitterscope::report
