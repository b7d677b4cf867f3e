// What a launch moved through the device's memory, beside what it has to move.
#include <algorithm>

#include "base/quantity_text.hpp"
#include "report/drawing.hpp"
#include "report/plots/run_plots.hpp"

namespace jitterscope::report {
namespace {

std::optional<double> value_of(const CounterReading& reading, CounterQuantity quantity) {
  const auto found = std::ranges::find(reading.values, quantity, &CounterValue::quantity);
  return found == reading.values.end() ? std::nullopt : found->value;
}

// Binary, as the table's.
struct BytesUnit {
  const char* name;
  double bytes;
};
BytesUnit bytes_unit_for(double largest) {
  for (const BytesUnit unit :
       {BytesUnit{"GiB", 0x1p30}, BytesUnit{"MiB", 0x1p20}, BytesUnit{"KiB", 0x1p10}}) {
    if (largest >= unit.bytes) return unit;
  }
  return {"B", 1.0};
}

}  // namespace

std::optional<Plot> counters_plot(const PlottedResult& result) {
  Json rows = Json::array();
  TableColumn of_what = text_column("bytes"), kinds = text_column("kind"), counts = number_column("moved");
  double largest = 0.0;
  const auto add = [&](const std::string& what, const char* kind, std::optional<double> bytes) {
    if (!bytes) return;
    largest = std::max(largest, *bytes);
    const std::string shown = bytes_text(Bytes(static_cast<std::int64_t>(*bytes)));
    rows.push_back(Json{{"what", what}, {"kind", kind}, {"moved", *bytes}, {"shown", shown}});
    of_what.cells.push_back(what);
    kinds.cells.emplace_back(kind);
    counts.cells.push_back(shown);
  };
  for (const LaunchCounters& counters : result.entry.result.counters) {
    const std::string what = std::string(to_string(counters.cache)) + ": moved";
    add(what, "read", value_of(counters.reading, CounterQuantity::dram_bytes_read));
    add(what, "written", value_of(counters.reading, CounterQuantity::dram_bytes_written));
  }
  const auto must = static_cast<double>(result.entry.result.bytes.value());
  if (rows.empty() || !(must > 0.0)) return std::nullopt;
  add("must move", "operands, each once", must);
  const BytesUnit unit = bytes_unit_for(largest);
  for (Json& row : rows) row["moved"] = rounded(row["moved"].get<double>() / unit.bytes);
  Json spec{{"height", height_of(of_what.cells, 34)},
            {"data", data_of(rows)},
            {"name", "bytes"},
            {"mark", {{"type", "bar"}}},
            {"encoding",
             {{"y", category("what", "", parsed(R"({"sort": null, "title": null})"))},
              {"x", quantity("moved", std::string("memory traffic of one launch, ") + unit.name)},
              {"color", category("kind", "",
                                 Json{{"title", nullptr},
                                      {"scale",
                                       {{"domain", {"read", "written", "operands, each once"}},
                                        {"range", {kBlue, kOrange, kGrey}}}}})},
              {"tooltip", tooltip({{"what", "of"}, {"kind", "kind"}, {"shown", "bytes"}})}}}};
  return Plot{
      .id = "counters",
      .title = "Bytes moved: " + result.name,
      .caption =
          "What the hardware counted between the GPU's L2 cache and its memory in one launch. Less than must move "
          "means that the cache kept a part.",
      .spec = single_plot(spec),
      .table = {of_what, kinds, counts}};
}

}  // namespace jitterscope::report
