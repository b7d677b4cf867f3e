// Rates against arithmetic intensity, under the ceilings that were measured on this very device.
#include <algorithm>

#include "base/quantity_text.hpp"
#include "report/drawing.hpp"
#include "report/plots/run_plots.hpp"

namespace jitterscope::report {
namespace {

struct Roof {
  std::string name;
  double flops_per_second = 0.0;
};

std::vector<Roof> roofs_of(const Ceilings& ceilings) {
  std::vector<Roof> roofs;
  for (const Ceilings::Compute& compute : ceilings.compute) {
    if (compute.flops_per_second > 0.0) {
      roofs.push_back({"ceiling " + std::string(to_string(compute.dtype)), compute.flops_per_second});
    }
  }
  return roofs;
}

// Memory's slope up to the ridge, then the ceiling; without one, the slope alone.
Json roof_rows(const std::vector<Roof>& roofs, double bytes_per_second, double from, double to,
               const RateUnit& unit) {
  Json rows = Json::array();
  const auto add = [&](const std::string& roof, double intensity, double rate) {
    rows.push_back(Json{{"roof", roof}, {"intensity", rounded(intensity)}, {"rate", unit.of(rate)}});
  };
  if (roofs.empty()) {
    for (const double intensity : {from, to})
      add("ceiling of memory", intensity, intensity * bytes_per_second);
  }
  for (const Roof& roof : roofs) {
    const double ridge = roof.flops_per_second / bytes_per_second;
    for (const double intensity : {std::min(from, ridge), ridge, std::max(to, ridge)}) {
      const double rate = std::min(intensity * bytes_per_second, roof.flops_per_second);
      add(roof.name, intensity, rate);
    }
  }
  return rows;
}

double highest_rate(const std::vector<Roof>& roofs, const std::vector<PlottedResult>& results) {
  double highest = 0.0;
  for (const Roof& roof : roofs) highest = std::max(highest, roof.flops_per_second);
  if (!roofs.empty()) return highest;
  for (const PlottedResult& result : results) {
    for (const PlottedMeasurement& plotted : measurements_of(result)) {
      highest = std::max(highest, result.entry.result.flops / to_seconds(plotted.measurement.time.median));
    }
  }
  return highest;
}

}  // namespace

std::optional<Plot> roofline_plot(const RunRecord& record, const std::vector<PlottedResult>& results) {
  const std::vector<Roof> roofs = roofs_of(record.ceilings);
  if (!(record.ceilings.bytes_per_second.value_or(0.0) > 0.0)) return std::nullopt;
  const RateUnit unit = rate_unit_for(highest_rate(roofs, results), "FLOP/s");
  Json rows = Json::array();
  TableColumn names = text_column("operation"), conditions = text_column("conditions"),
              intensities = number_column("FLOP per byte"), rates = number_column("rate");
  double from = 0.0, to = 0.0;
  for (const PlottedResult& result : results) {
    const double flops = result.entry.result.flops,
                 bytes = static_cast<double>(result.entry.result.bytes.value());
    if (!(flops > 0.0) || !(bytes > 0.0)) continue;
    const double intensity = flops / bytes;
    for (const PlottedMeasurement& plotted : measurements_of(result)) {
      const double rate = flops / to_seconds(plotted.measurement.time.median);
      const double total =
          to_seconds(plotted.measurement.time.median) * static_cast<double>(result.entry.count);
      from = rows.empty() ? intensity : std::min(from, intensity);
      to = std::max(to, intensity);
      rows.push_back(Json{{"operation", result.name},
                          {"conditions", plotted.label},
                          {"intensity", rounded(intensity)},
                          {"rate", unit.of(rate)},
                          {"total", rounded(total * 1e3)},
                          {"shown", rate_text(rate, "FLOP/s")}});
      names.cells.push_back(result.name);
      conditions.cells.push_back(plotted.label);
      intensities.cells.push_back(cell(intensity));
      rates.cells.push_back(rate_text(rate, "FLOP/s"));
    }
  }
  if (rows.empty()) return std::nullopt;
  const Json x = quantity("intensity", "arithmetic intensity, FLOP per byte that must move",
                          parsed(R"({"scale": {"type": "log", "nice": false}})"));
  const Json y = quantity("rate", unit.name, parsed(R"({"scale": {"type": "log", "nice": false}})"));
  Json lines{
      {"name", "ceilings"},
      {"data", data_of(roof_rows(roofs, *record.ceilings.bytes_per_second, from / 2.0, to * 2.0, unit))},
      {"mark", {{"type", "line"}, {"color", kGrey}, {"size", 2}}},
      {"encoding",
       {{"x", x},
        {"y", y},
        {"strokeDash", category("roof", "", parsed(R"({"title": null})"))},
        {"tooltip", tooltip({{"roof", "measured here"}, {"rate", unit.name}})}}}};
  Json points{{"name", "operations"},
              {"data", data_of(rows)},
              {"mark", {{"type", "point"}, {"filled", true}, {"opacity", 0.75}}},
              {"encoding",
               {{"x", x},
                {"y", y},
                {"size", quantity("total", "time of all calls, ms",
                                  parsed(R"({"legend": null, "scale": {"range": [25, 300]}})"))},
                {"color", series_color("conditions", conditions.cells)},
                {"tooltip", tooltip({{"operation", "operation"},
                                     {"conditions", "conditions"},
                                     {"shown", "rate"},
                                     {"intensity", "FLOP per byte"},
                                     {"total", "time of all calls, ms"}})}}}};
  return Plot{
      .id = "roofline",
      .title = "Roofline" + (record.title.empty() ? std::string() : ": " + record.title),
      .caption =
          std::string(roofs.empty()
                          ? "Grey: the best rate of a copy through memory that was measured on this device; "
                            "no product was measured."
                          : "Grey: the best rates measured on this device, of a copy through memory and of "
                            "large products.") +
          " A point above has its operands in a cache. Larger points take more of the time.",
      .spec = single_plot(Json{{"height", 320}, {"layer", {lines, points}}}),
      .table = {names, conditions, intensities, rates}};
}

}  // namespace jitterscope::report
