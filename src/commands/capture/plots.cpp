// Plots of a capture: its steps over time with the clock beneath, its kernels, and two of its steps piece by
// piece.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/quantity_text.hpp"
#include "commands/capture/record.hpp"
#include "report/drawing.hpp"

namespace jitterscope::report {
namespace {

double seconds_of(Nanoseconds time) { return rounded(time.value() * 1e-9); }

// Whose steps and kernels they are.
std::string owner_of(const CaptureDevice& device) {
  return device.rank ? fmt::format("rank {}", *device.rank) : process_label(device);
}

// The steps' times, and beneath them what NVML saw meanwhile.
Plot steps_plot(const CaptureDevice& device) {
  Nanoseconds longest(0);
  for (const CaptureStepTime& step : device.step_times) longest = std::max(longest, step.time);
  const TimeUnit unit = unit_for(longest);
  Json rows = Json::array(), sensors = Json::array();
  Plot plot{
      .id = "steps",
      .title = fmt::format("Steps of {} on {}", owner_of(device), device.gpu),
      .caption =
          "Each point is a step, from its first kernel to that of the next; those that took longer are orange.",
      .spec = {},
      .table = columns_of({">at, s", "> " + unit.axis("step"), "slow"})};
  for (const CaptureStepTime& step : device.step_times) {
    rows.push_back({{"at", seconds_of(step.at)},
                    {"time", rounded(unit.of(step.time))},
                    {"slow", step.slow ? "slow" : "other"}});
    add_row(plot.table, {cell(seconds_of(step.at)), cell(unit.of(step.time)), step.slow ? "slow" : ""});
  }
  double most_held = 0.0, most_power = 0.0;
  for (const CaptureSensor& sensor : device.sensors) {
    sensors.push_back({{"at", seconds_of(sensor.at)},
                       {"clock", rounded(sensor.clock.value() * 1e-6)},
                       {"power", rounded(sensor.power.value())},
                       {"held", rounded(100.0 * sensor.held)}});
    most_held = std::max(most_held, sensor.held);
    most_power = std::max(most_power, sensor.power.value());
  }
  Json views = Json::array();
  views.push_back(filled(R"({
    "data": "$rows", "height": 220, "width": "$width", "mark": {"type": "point", "filled": true, "size": 14, "opacity": 0.7},
    "params": [{"name": "zoom", "select": {"type": "interval", "encodings": ["x"]}, "bind": "scales"}],
    "encoding": {
      "x": {"field": "at:Q", "title": "seconds from the first step", "axis": {"grid": false}},
      "y": {"field": "time:Q", "title": "$title", "scale": {"zero": false}},
      "color": {"field": "slow:N", "scale": {"domain": ["other", "slow"], "range": ["$blue", "$orange"]}, "legend": null},
      "tooltip": [["at", "at, s"], ["time", "$title"]]}})",
                         "rows", rows, "width", kAxesWidth, "title", unit.axis("step")));
  const auto add_sensor = [&](const char* field, const char* title, const char* mark,
                              std::string_view color) {
    views.push_back(filled(R"({
    "data": "$rows", "height": 70, "width": "$width", "mark": {"type": "$mark", "interpolate": "step-after", "color": "$color", "opacity": 0.8},
    "encoding": {
      "x": {"field": "at:Q", "title": null, "axis": {"grid": false}},
      "y": {"field": "$field:Q", "title": "$title", "scale": {"zero": "$zero"}},
      "tooltip": [["at", "at, s"], ["$field", "$title"]]}})",
                           "rows", sensors, "width", kAxesWidth, "mark", mark, "color", std::string(color),
                           "field", field, "title", title, "zero", std::string_view(mark) == "area"));
  };
  if (!sensors.empty()) {
    plot.caption += " Beneath: what NVML read meanwhile";
    add_sensor("clock", "clock, MHz", "line", kGreen);
    if (most_power > 0.0) add_sensor("power", "power, W", "line", kPurple);
    if (most_held > 0.0) {
      add_sensor("held", "held, %", "area", kRed);
      plot.caption += "; held is the share of the time that a cap of power or heat held the clock";
    }
    plot.caption += ".";
  }
  plot.spec = stacked_plots(views);
  plot.spec["resolve"]["scale"]["x"] = "shared";  // the sensors zoom with the steps
  return plot;
}

// The kernels that take the longest: from the 5th to the 95th percentile of their calls, with the median.
Plot kernels_plot(const CaptureDevice& device) {
  constexpr std::size_t kTop = 20;
  constexpr int kLongestLabel = 320;
  const std::size_t count = std::min(kTop, device.work.size());
  Nanoseconds longest(0);
  for (std::size_t i = 0; i < count; ++i) longest = std::max(longest, device.work[i].p95);
  const TimeUnit unit = unit_for(longest);
  Plot plot{
      .id = "kernels",
      .title = fmt::format("Kernels of {}, by their share of the GPU's time", owner_of(device)),
      .caption =
          "The bar goes from the 5th to the 95th percentile of a kernel's calls, the tick is their median; the axis is logarithmic.",
      .spec = {},
      .table = columns_of({"kernel", ">share, %", "> " + unit.axis("median"), ">p5", ">p95", "follows"})};
  Json rows = Json::array();
  std::vector<std::string> names;
  for (std::size_t i = 0; i < count; ++i) {
    const CaptureWork& work = device.work[i];
    names.push_back(name_apart(work.label, names));
    std::string follows;
    for (const CaptureCause& cause : work.follows)
      follows += (follows.empty() ? "" : ", ") + follows_text(cause);
    rows.push_back({{"name", names.back()},
                    {"low", rounded(unit.of(work.p5))},
                    {"high", rounded(unit.of(work.p95))},
                    {"median", rounded(unit.of(work.median))},
                    {"share", rounded(100.0 * work.share)},
                    {"follows", follows.empty() ? "nothing that was seen" : follows}});
    add_row(plot.table, {names.back(), cell(100.0 * work.share), cell(unit.of(work.median)),
                         cell(unit.of(work.p5)), cell(unit.of(work.p95)), follows});
  }
  const Json axis = names_axis("name", names, kLongestLabel);
  plot.spec = single_plot(filled(R"({
    "data": "$rows", "height": "$height", "width": "$width",
    "layer": [
      {"mark": {"type": "bar", "height": 9, "color": "$blue", "opacity": 0.6, "stroke": "$blue", "strokeWidth": 1},
       "encoding": {"x": {"field": "low:Q", "title": "$title", "scale": {"type": "log", "nice": false}}, "x2": {"field": "high"}}},
      {"mark": {"type": "tick", "thickness": 2, "size": 14, "color": "$orange"},
       "encoding": {"x": {"field": "median:Q", "title": "$title"}}}],
    "encoding": {
      "y": "$axis",
      "tooltip": [["name:N", "kernel"], ["share", "share, %"], ["median", "median, $unit"], ["low", "p5, $unit"], ["high", "p95, $unit"], ["follows:N", "follows"]]}})",
                                 "rows", rows, "height", height_of(names, 20), "width",
                                 width_beside(names, kLongestLabel), "title", unit.axis("one call"), "axis",
                                 axis, "unit", unit.name));
  return plot;
}

// Two steps, stream by stream; the wheel zooms.
Plot pictures_plot(const CaptureDevice& device) {
  Nanoseconds longest(0);
  for (const CapturePicture& picture : device.pictures) longest = std::max(longest, picture.length);
  const TimeUnit unit = unit_for(longest);
  Plot plot{
      .id = "timeline",
      .title = fmt::format("The median and the slowest step of {}", owner_of(device)),
      .caption =
          "What ran on each stream, from the step's begin to that of the next; where nothing is, the GPU idles. Scroll to zoom, drag to move.",
      .spec = {},
      .table = columns_of({"step", ">stream", "> " + unit.axis("begin"), "> " + unit.axis("end"), "kernel"})};
  constexpr std::size_t kMostStroked = 100;  // of more, nothing would be seen but their edges
  Json views = Json::array();
  for (const CapturePicture& picture : device.pictures) {
    Json rows = Json::array();
    std::set<std::int64_t> streams;
    for (const CaptureSlice& slice : picture.slices) {
      rows.push_back({{"stream", std::to_string(slice.stream)},
                      {"begin", rounded(unit.of(slice.begin))},
                      {"end", rounded(unit.of(slice.end))},
                      {"length", rounded(unit.of(slice.end - slice.begin))},
                      {"name", slice.label}});
      streams.insert(slice.stream);
      add_row(plot.table, {picture.title, std::to_string(slice.stream), cell(unit.of(slice.begin)),
                           cell(unit.of(slice.end)), slice.label});
    }
    views.push_back(
        filled(R"({
    "data": "$rows", "height": "$height", "width": "$width", "title": "$title",
    "params": [{"name": "$zoom", "select": {"type": "interval", "encodings": ["x"]}, "bind": "scales"}],
    "mark": {"type": "bar", "height": 16, "stroke": "white", "strokeWidth": "$stroke", "clip": true},
    "encoding": {
      "x": {"field": "begin:Q", "title": "$axis", "scale": {"domain": [0, "$longest"]}}, "x2": {"field": "end"},
      "y": {"field": "stream:N", "title": "stream"},
      "color": {"field": "name:N", "legend": null, "scale": {"scheme": "tableau20"}},
      "tooltip": [["name:N", "kernel"], ["begin", "begin, $unit"], ["length", "length, $unit"]]}})",
               "rows", rows, "height", 30 + 22 * static_cast<int>(streams.size()), "width", kAxesWidth,
               "title", picture.title, "stroke", picture.slices.size() > kMostStroked ? 0.0 : 0.3, "zoom",
               fmt::format("zoom_{}", views.size() + 1), "axis", unit.axis("from the step's begin"),
               "longest", rounded(unit.of(longest)), "unit", unit.name));
  }
  plot.spec = stacked_plots(views);
  return plot;
}

}  // namespace

std::vector<Plot> plots_of(const CaptureRecord& record) {
  std::vector<Plot> plots;
  for (const CaptureDevice& device : record.devices) {
    if (!device.step_times.empty()) plots.push_back(steps_plot(device));
    if (!device.work.empty()) plots.push_back(kernels_plot(device));
    if (!device.pictures.empty()) plots.push_back(pictures_plot(device));
    if (plots.size() >= 9) break;  // of eight GPUs that do the same, three are enough to look at
  }
  return plots;
}

}  // namespace jitterscope::report
