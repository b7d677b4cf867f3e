// What a launch moved through the device's memory, beside what it has to move.
#include <algorithm>

#include "base/quantity_text.hpp"
#include "report/drawing.hpp"
#include "report/plots/run_plots.hpp"

namespace jitterscope::report {
namespace {

double value_of(const CounterReading& reading, CounterQuantity quantity) {
  const auto found = std::ranges::find(reading.values, quantity, &CounterValue::quantity);
  return found == reading.values.end() ? 0.0 : found->value.value_or(0.0);
}

}  // namespace

std::optional<Plot> counters_plot(const PlottedResult& result) {
  Json rows = Json::array();
  TableColumn of_what = text_column("bytes"), kinds = text_column("kind"), counts = number_column("MB");
  const auto add = [&](const std::string& what, const char* kind, double bytes) {
    rows.push_back(Json{{"what", what}, {"kind", kind}, {"megabytes", rounded(bytes / 1e6)}});
    of_what.cells.push_back(what);
    kinds.cells.push_back(kind);
    counts.cells.push_back(cell(bytes / 1e6));
  };
  for (const LaunchCounters& counters : result.entry.result.counters) {
    const double read = value_of(counters.reading, CounterQuantity::dram_bytes_read),
                 written = value_of(counters.reading, CounterQuantity::dram_bytes_written);
    if (!(read + written > 0.0)) continue;
    const std::string what = std::string(to_string(counters.cache)) + ": moved";
    add(what, "read", read);
    add(what, "written", written);
  }
  const auto must = static_cast<double>(result.entry.result.bytes.value());
  if (rows.empty() || !(must > 0.0)) return std::nullopt;
  add("must move", "operands, each once", must);
  Json spec{{"height", height_of(of_what.cells, 34)},
            {"data", data_of(rows)},
            {"name", "bytes"},
            {"mark", {{"type", "bar"}}},
            {"encoding",
             {{"y", category("what", "", parsed(R"({"sort": null, "title": null})"))},
              {"x", quantity("megabytes", "memory traffic of one launch, MB")},
              {"color", category("kind", "",
                                 Json{{"title", nullptr},
                                      {"scale",
                                       {{"domain", {"read", "written", "operands, each once"}},
                                        {"range", {kBlue, kOrange, kGrey}}}}})},
              {"tooltip", tooltip({{"what", "of"}, {"kind", "kind"}, {"megabytes", "MB"}})}}}};
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
