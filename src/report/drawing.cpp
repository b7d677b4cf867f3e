#include "report/drawing.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>

namespace jitterscope::report {

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
  return Json{{"$schema", kSchema}, {"background", nullptr}, {"config", parsed(R"({
    "view": {"stroke": null},
    "axisX": {"labelFlush": false},
    "axis": {"gridOpacity": 0.35, "labelFontSize": 12, "titleFontSize": 12, "titleFontWeight": "normal"},
    "legend": {"labelFontSize": 12, "titleFontSize": 12, "titleFontWeight": "normal", "orient": "top", "labelLimit": 400},
    "title": {"anchor": "start", "fontSize": 13, "subtitleFontSize": 12}
  })")}};
}

// Views of one name would be drawn from the same data.
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
  Json intervals{{"name", "intervals"},
                 {"data", data_of(rows)},
                 {"mark", {{"type", "rule"}, {"size", 3}}},
                 {"encoding", {{"y", y}, {"x", x}, {"x2", {{"field", "high"}}}, {"color", color}}}};
  Json points{{"name", "effects"},
              {"data", data_of(rows)},
              {"mark", {{"type", "point"}, {"filled", true}, {"size", 60}}},
              {"encoding", {{"y", y}, {"x", change}, {"color", color}, {"tooltip", tips}}}};
  return {zero, intervals, points};
}

Json single_plot(const Json& view) {
  Json spec = frame();
  if (!view.contains("width")) spec["width"] = kPlotWidth;
  spec.update(view);
  return spec;
}

Json stacked_plots(Json views) {
  if (views.size() == 1) return single_plot(views.front());
  Json spec = frame();
  std::size_t number = 0;
  for (Json& view : views) {
    if (!view.contains("width")) view["width"] = kPlotWidth;
    number_names(view, ++number);
  }
  spec["vconcat"] = std::move(views);
  return spec;
}

std::string cell(double value) { return fmt::format("{:.6g}", value); }

TableColumn text_column(std::string heading) { return {std::move(heading), Align::left, {}}; }
TableColumn number_column(std::string heading) { return {std::move(heading), Align::right, {}}; }

}  // namespace jitterscope::report
