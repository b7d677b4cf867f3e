// How finely a machine can be timed: what the doctor's few seconds of measuring reached.
#include <fmt/format.h>

#include "base/quantity_text.hpp"
#include "output/display_text.hpp"
#include "output/estimate_text.hpp"
#include "report/drawing.hpp"
#include "report/plots/record_plots.hpp"

namespace jitterscope::report {
namespace {

constexpr int kLongestOperation = 320;  // pixels

}  // namespace

std::vector<Plot> doctor_plots(const DoctorReport& record) {
  if (!record.noise_floor) return {};
  Json rows = Json::array();
  TableColumn operations = text_column("operation"), times = number_column("time"),
              precisions = number_column("interval, ±"), least = number_column("5 % of rounds below"),
              most = number_column("95 % below");
  for (const Result& result : record.noise_floor->results) {
    if (result.measurements.empty() || result.measurements.front().rounds.empty()) continue;
    const Measurement& measurement = result.measurements.front();
    const TimeEstimate& time = measurement.time;
    if (!has_interval(time) || !(time.median > Nanoseconds(0))) continue;
    const RoundSpread spread = round_spread(measurement);
    operations.cells.push_back(one_line(to_string(result.subject)));
    times.cells.push_back(time_text(time.median, time.precision()));
    precisions.cells.push_back(percent_text(time.precision()));
    least.cells.push_back(time_text(spread.p5, 1e-4));
    most.cells.push_back(time_text(spread.p95, 1e-4));
    rows.push_back(Json{{"operation", operations.cells.back()},
                        {"change", 0.0},
                        {"low", percent_change(time.low / time.median)},
                        {"high", percent_change(time.high / time.median)},
                        {"p5", percent_change(spread.p5 / time.median)},
                        {"p95", percent_change(spread.p95 / time.median)},
                        {"shown", estimate_text(time)}});
  }
  if (rows.empty()) return {};
  const Json y = names_axis("operation", operations.cells, kLongestOperation);
  const char* of_median = "away from the median, %";
  const Json tips = tooltip({{"operation", "operation"},
                             {"shown", "time"},
                             {"low", "interval from, %"},
                             {"high", "to, %"},
                             {"p5", "5 % of rounds below, %"},
                             {"p95", "95 % below, %"}});
  const auto span = [&](const char* name, const char* from, const char* to, std::string_view color, int size,
                        double opacity) {
    return Json{{"name", name},
                {"mark", {{"type", "bar"}, {"color", color}, {"height", size}, {"opacity", opacity}}},
                {"encoding",
                 {{"y", y}, {"x", quantity(from, of_median)}, {"x2", {{"field", to}}}, {"tooltip", tips}}}};
  };
  Json medians{
      {"name", "medians"},
      {"mark", {{"type", "point"}, {"filled", true}, {"size", 50}, {"color", kBlue}, {"opacity", 1}}},
      {"encoding", {{"y", y}, {"x", quantity("change", of_median)}, {"tooltip", tips}}}};
  return {Plot{.id = "noise_floor",
               .title = "How finely times are known here: " + one_line(record.device.name),
               .caption = "Blue: the 95 % interval of the median. Orange: nine rounds in ten.",
               .spec = single_plot(Json{{"height", height_of(operations.cells, 34)},
                                        {"data", data_of(rows)},
                                        {"layer",
                                         {span("intervals", "low", "high", kBlue, 18, 0.45),
                                          span("rounds", "p5", "p95", kOrange, 6, 0.9), medians}}}),
               .table = {operations, times, precisions, least, most}}};
}

}  // namespace jitterscope::report
