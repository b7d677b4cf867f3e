#include "report/drawing.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <set>

#include <fmt/format.h>

#include "output/text.hpp"

namespace jitterscope::report {
namespace {

constexpr int kLongestLegend = 400;  // longest name, in pixels

}  // namespace

double TimeUnit::of(Nanoseconds time) const { return rounded(time.value() / nanoseconds); }

std::string TimeUnit::axis(std::string_view of_what) const { return fmt::format("{}, {}", of_what, name); }

TimeUnit unit_for(Nanoseconds largest) {
  const double value = std::abs(largest.value());
  if (value < 1e3) return {"ns", 1.0};
  if (value < 1e6) return {"µs", 1e3};
  if (value < 1e9) return {"ms", 1e6};
  return {"s", 1e9};
}

double RateUnit::of(double rate) const { return rounded(rate / per_second); }

RateUnit rate_unit_for(double largest, std::string_view unit) {
  if (largest < 1e9) return {fmt::format("M{}", unit), 1e6};
  if (largest < 1e12) return {fmt::format("G{}", unit), 1e9};
  return {fmt::format("T{}", unit), 1e12};
}

double rounded(double value) { return std::strtod(fmt::format("{:.6g}", value).c_str(), nullptr); }

double percent_change(double ratio) { return rounded((ratio - 1.0) * 100.0); }

Json parsed(std::string_view text) { return Json::parse(text); }

Json data_of(Json rows) { return Json{{"values", std::move(rows)}}; }

namespace {

Json channel(std::string_view type, std::string_view field, std::string_view title, const Json& more) {
  Json made{{"field", field}, {"type", type}, {"title", title}};
  made.update(more);
  return made;
}

}  // namespace

Json quantity(std::string_view field, std::string_view title, const Json& more) {
  return channel("quantitative", field, title, more);
}

Json category(std::string_view field, std::string_view title, const Json& more) {
  return channel("nominal", field, title, more);
}

Json series_color(std::string_view field, const std::vector<std::string>& names) {
  constexpr int kLetter = 8, kSymbol = 32, kTenColours = 10;
  const std::set<std::string> series(names.begin(), names.end());
  std::size_t longest = 0;
  for (const std::string& name : series) longest = std::max(longest, display_width(name));
  const int column = std::min(kLongestLegend, kLetter * static_cast<int>(longest)) + kSymbol;
  Json color = category(field, "", parsed(R"({"title": null, "sort": null})"));
  if (column * std::ssize(series) > kAxesWidth)
    color["legend"] = Json{{"columns", std::max(1, kAxesWidth / column)}};
  if (std::ssize(series) > kTenColours) color["scale"] = Json{{"scheme", "tableau20"}};
  return color;
}

Json intervals_in_rows(const Json& y, const Json& offset, const Json& color) {
  return Json{{"y", y},
              {"yOffset", offset},
              {"x", {{"field", "low"}, {"type", "quantitative"}}},
              {"x2", {{"field", "high"}}},
              {"color", color}};
}

Json not_from_zero() { return Json{{"scale", {{"zero", false}}}}; }

Json tooltip(std::initializer_list<std::pair<std::string_view, std::string_view>> fields_and_titles) {
  Json fields = Json::array();
  for (const auto& [field, title] : fields_and_titles) {
    fields.push_back(Json{{"field", field}, {"title", title}});
  }
  return fields;
}

namespace {

constexpr const char* kSchema = "https://vega.github.io/schema/vega-lite/v5.json";

Json frame() {
  // The right of the padding is for an axis' last label.
  Json made{{"$schema", kSchema},
            {"background", nullptr},
            {"padding", parsed(R"({"left": 5, "top": 5, "right": 18, "bottom": 5})")},
            {"config", parsed(R"({
    "view": {"stroke": null},
    "axisX": {"labelFlush": false, "labelSeparation": 6},
    "axis": {"gridOpacity": 0.35, "labelFontSize": 12, "titleFontSize": 12, "titleFontWeight": "normal"},
    "legend": {"labelFontSize": 12, "titleFontSize": 12, "titleFontWeight": "normal", "orient": "top", "symbolOpacity": 1},
    "title": {"anchor": "start", "frame": "group", "fontSize": 13, "subtitleFontSize": 12}
  })")}};
  made["config"]["legend"]["labelLimit"] = kLongestLegend;
  return made;
}

// Numbers the views' names: views with the same name would draw the same data.
void number_names(Json& view, std::size_t number) {
  if (view.contains("name")) view["name"] = fmt::format("{}_{}", view["name"].get<std::string>(), number);
  if (!view.contains("layer")) return;
  for (Json& layer : view["layer"]) number_names(layer, number);
}

}  // namespace

std::vector<Json> effect_layers(const Json& rows, const Json& y, const Json& x, const Json& color,
                                const Json& tips) {
  const Json change = {{"field", "change"}, {"type", "quantitative"}};
  Json zero{{"data", data_of(Json::array({Json{{"change", 0}}}))},
            {"mark", {{"type", "rule"}, {"color", kGrey}}},
            {"encoding", {{"x", change}}}};
  Json intervals{
      {"name", "intervals"},
      {"data", data_of(rows)},
      {"mark", {{"type", "rule"}, {"size", 3}}},
      {"encoding", {{"y", y}, {"x", x}, {"x2", {{"field", "high"}}}, {"color", color}, {"tooltip", tips}}}};
  Json points{{"name", "effects"},
              {"data", data_of(rows)},
              {"mark", {{"type", "point"}, {"filled", true}, {"size", 60}}},
              {"encoding", {{"y", y}, {"x", change}, {"color", color}, {"tooltip", tips}}}};
  return {zero, intervals, points};
}

std::string name_apart(const std::string& name, const std::vector<std::string>& before) {
  std::string apart = one_line(name);
  for (int again = 2; std::ranges::find(before, apart) != before.end(); ++again) {
    apart = fmt::format("{} ({})", one_line(name), again);
  }
  return apart;
}

Json names_axis(std::string_view field, const std::vector<std::string>& in_order, int longest_label) {
  Json axis = category(
      field, "", Json{{"sort", in_order}, {"axis", {{"labelLimit", longest_label}, {"title", nullptr}}}});
  axis["title"] = nullptr;
  return axis;
}

int height_of(const std::vector<std::string>& names, int step) {
  return step * static_cast<int>(std::set<std::string>(names.begin(), names.end()).size());
}

int width_beside(const std::vector<std::string>& names, int longest_label) {
  constexpr int kLetter = 8, kTick = 12;  // widths in pixels; a letter of 12 pixels' height has at most 8
  std::size_t longest = 0;
  for (const std::string& name : names) longest = std::max(longest, display_width(name));
  return kPlotWidth - kTick - std::min(longest_label, kLetter * static_cast<int>(longest));
}

Json single_plot(const Json& view) {
  Json spec = frame();
  spec["width"] = kPlotWidth;
  spec["autosize"] = parsed(R"({"type": "fit-x", "contains": "padding"})");
  spec.update(view);
  return spec;
}

Json stacked_plots(Json views) {
  if (views.size() == 1) {
    views.front().erase("width");  // for stacks; alone, a view is as wide as the page
    return single_plot(views.front());
  }
  Json spec = frame();
  std::size_t number = 0;
  for (Json& view : views) {
    if (!view.contains("width")) view["width"] = kAxesWidth;
    number_names(view, ++number);
  }
  spec["vconcat"] = std::move(views);
  return spec;
}

std::string cell(double value) { return fmt::format("{:.6g}", value); }

TableColumn text_column(std::string heading) { return {std::move(heading), Align::left, {}}; }
TableColumn number_column(std::string heading) { return {std::move(heading), Align::right, {}}; }

namespace {

constexpr int kBins = 60, kHeight = 130, kTickHeight = 14;
constexpr double kOutside = 0.005;  // share of the times left out at either end

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
  // NaN if the record holds times that are not finite.
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
        {"mark",
         {{"type", "rect"}, {"color", kGreen}, {"opacity", 0.25}, {"stroke", kGreen}, {"strokeWidth", 1}}},
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
