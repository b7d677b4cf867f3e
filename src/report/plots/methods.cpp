// What every method of timing read of one operation, repetition by repetition.
#include <algorithm>

#include "base/quantity_text.hpp"
#include "report/drawing.hpp"
#include "report/plots/record_plots.hpp"

namespace jitterscope::report {

std::vector<Plot> methods_plots(const MethodsRecord& record) {
  const MethodComparison& comparison = record.comparison;
  Nanoseconds slowest(0);
  for (const MethodReading& reading : comparison.readings) {
    for (const Nanoseconds time : reading.times) slowest = std::max(slowest, time);
  }
  const TimeUnit unit = unit_for(slowest);
  Json rows = Json::array(), reference = Json::array();
  TableColumn methods = text_column("method"), repetitions = number_column("repetition"),
              times = number_column("time");
  for (const MethodReading& reading : comparison.readings) {
    for (std::size_t i = 0; i < reading.times.size(); ++i) {
      rows.push_back(Json{{"method", reading.name},
                          {"repetition", i + 1},
                          {"time", unit.of(reading.times[i])},
                          {"sentence", reading.sentence}});
      methods.cells.push_back(reading.name);
      repetitions.cells.push_back(std::to_string(i + 1));
      times.cells.push_back(time_text(reading.times[i], 1e-3));
    }
    if (reading.id == comparison.reference && !reading.times.empty()) {
      reference.push_back(Json{{"time", unit.of(reading.time())}});
    }
  }
  if (rows.empty()) return {};
  Json line{{"data", data_of(reference)},
            {"name", "reference"},
            {"mark", {{"type", "rule"}, {"color", kGreen}, {"size", 2}}},
            {"encoding", {{"x", {{"field", "time"}, {"type", "quantitative"}}}}}};
  Json points{{"data", data_of(rows)},
              {"name", "readings"},
              {"mark", {{"type", "tick"}, {"color", kBlue}, {"thickness", 2}}},
              {"encoding",
               {{"y", category("method", "",
                               parsed(R"({"title": null, "sort": null, "axis": {"labelLimit": 320}})"))},
                {"x", quantity("time", unit.axis("time of one launch"))},
                {"tooltip", tooltip({{"method", "method"},
                                     {"repetition", "repetition"},
                                     {"time", "time, " + unit.name},
                                     {"sentence", "what it gets wrong"}})}}}};
  return {Plot{.id = "methods",
               .title = "One operation, every method: " + comparison.operation,
               .caption = "A tick is one repetition. Green: what jitterscope reads.",
               .spec = single_plot(Json{{"height", height_of(methods.cells, 24)}, {"layer", {line, points}}}),
               .table = {methods, repetitions, times}}};
}

}  // namespace jitterscope::report
