// Plots bus bandwidth and waits over the size.
#include <algorithm>
#include <cmath>

#include "base/quantity_text.hpp"
#include "commands/collectives/record.hpp"

namespace jitterscope::report {
namespace {

constexpr const char* kOverSize = R"({
    "width": "$width", "height": 320, "data": "$rows",
    "encoding": {"x": {"field": "bytes:Q", "title": "size, bytes", "scale": {"type": "log", "base": 2, "nice": false}}, "color": "$color"},
    "layer": [
      {"mark": {"type": "area", "opacity": 0.25}, "encoding": {"y": {"field": "low:Q", "title": "$title", "scale": "$scale"}, "y2": {"field": "high"}}},
      {"mark": {"type": "line", "point": true}, "encoding": {"y": {"field": "value:Q", "title": "$title", "scale": "$scale"},
        "tooltip": [["name:N", "collective"], ["size:N", "size"], ["value", "$title"], ["low", "low"], ["high", "high"]]}}]})";

struct Drawn {
  Json rows = Json::array();
  std::vector<std::string> names;

  void add(const std::string& name, const CollectiveRow& row, double value, double low, double high) {
    if (std::ranges::find(names, name) == names.end()) names.push_back(name);
    rows.push_back({{"name", name},
                    {"size", bytes_text(row.bytes)},
                    {"bytes", row.bytes.value()},
                    {"value", rounded(value)},
                    {"low", rounded(low)},
                    {"high", rounded(high)}});
  }
  Json spec(const std::string& title, const char* scale) const {
    return single_plot(filled(kOverSize, "rows", rows, "width", kAxesWidth, "color",
                              series_color("name", names), "title", title, "scale", Json{{"type", scale}}));
  }
};

}  // namespace

std::vector<Plot> plots_of(const CollectivesRecord& record) {
  Drawn bandwidths, waits;
  Plot bandwidth{.id = "bandwidth",
                 .title = "Bus bandwidth over the size",
                 .caption = "The band is the 95 % interval over groups of fresh processes.",
                 .spec = {},
                 .table = columns_of({"collective", ">size", ">busbw, GB/s", ">low", ">high"})};
  Plot waiting{
      .id = "waiting",
      .title = "How long the others wait for the last rank",
      .caption = "Median, and from there to the 95th percentile, of rounds as a program launches them.",
      .spec = {},
      .table = columns_of({"collective", ">size", ">median, µs", ">p95, µs"})};
  for (const RowsOfCollective& rows : collectives_of(record)) {
    for (const CollectiveRow* row : rows.rows) {
      if (row->result.times.empty()) continue;
      for (const CollectiveTime& each : row->result.times) {
        const std::string name =
            collective_name(rows) + (&each == &row->result.times.front() ? "" : ", in place");
        const auto gigabytes_of = [&](Nanoseconds time) { return bus_bandwidth(*row, time) * 1e-9; };
        const bool has_interval = std::isfinite(each.time.precision()) && each.time.low > Nanoseconds(0);
        const double value = gigabytes_of(each.time.median),
                     low = has_interval ? gigabytes_of(each.time.high) : value,
                     high = has_interval ? gigabytes_of(each.time.low) : value;
        bandwidths.add(name, *row, value, low, high);
        add_row(bandwidth.table, {name, bytes_text(row->bytes), cell(value), cell(low), cell(high)});
      }
      if (!row->result.waiting) continue;
      const double median = row->result.waiting->median.value() * 1e-3,
                   p95 = row->result.waiting->p95.value() * 1e-3;
      waits.add(collective_name(rows), *row, median, median, p95);
      add_row(waiting.table, {collective_name(rows), bytes_text(row->bytes), cell(median), cell(p95)});
    }
  }
  std::vector<Plot> plots;
  if (!bandwidths.names.empty()) {
    bandwidth.spec = bandwidths.spec("busbw, GB/s", "linear");
    plots.push_back(std::move(bandwidth));
  }
  if (!waits.names.empty()) {
    waiting.spec = waits.spec("wait, µs", "linear");
    plots.push_back(std::move(waiting));
  }
  return plots;
}

}  // namespace jitterscope::report
