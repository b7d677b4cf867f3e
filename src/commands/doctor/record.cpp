#include "commands/doctor/record.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "base/quantity_text.hpp"
#include "output/cells.hpp"
#include "output/text.hpp"
#include "record/describe_run.hpp"
#include "record/envelope.hpp"
#include "record/json_text.hpp"
#include "report/drawing.hpp"
#include "statistics/statistics.hpp"

namespace jitterscope {

RoundSpread round_spread(const Measurement& measurement) {
  std::vector<double> times;
  for (const Round& round : measurement.rounds) times.push_back(round.time().value());
  const double probabilities[] = {0.05, 0.95};
  const std::vector<double> ends = statistics::quantiles(times, probabilities);
  return {Nanoseconds(ends[0]), Nanoseconds(ends[1])};
}

template <class Fields>
void describe(Fields& fields, Described<Fields, CacheProof>& proof) {
  fields("evicted_seconds", proof.evicted_read);
  fields("untouched_seconds", proof.untouched_read);
  fields("cached_seconds", proof.cached_read);
  fields("proven", proof.proven);
}

/// Writes a result with a summary of its one measurement.
struct FloorResult {
  const Result* result = nullptr;
};
template <class Fields>
void describe(Fields& fields, Described<Fields, FloorResult>& floor) {
  const Result& result = *floor.result;
  describe(fields, result);
  if (result.measurements.empty() || result.measurements.front().rounds.empty()) return;
  const Measurement& measurement = result.measurements.front();
  const RoundSpread spread = round_spread(measurement);
  fields("instrument", measurement.instrument);
  fields("rounds", measurement.time.rounds);
  fields("median_seconds", measurement.time.median);
  fields.derived("relative_precision", measurement.time.precision());
  fields.derived("p5_seconds", in_seconds(spread.p5));
  fields.derived("p95_seconds", in_seconds(spread.p95));
}

template <class Fields>
void describe(Fields& fields, Described<Fields, NoiseFloor>& floor) {
  describe(fields, floor.calibration);
  fields("launch_cost_seconds", floor.launch_cost);
  if constexpr (Fields::kWrites) {
    std::vector<FloorResult> written;
    for (const Result& result : floor.results) written.push_back({&result});
    fields("results", written);
  } else {
    fields("results", floor.results);
  }
  fields("cache_proof", floor.cache_proof);
  fields("duration_seconds", floor.duration);
  fields("interrupted", floor.interrupted);
}

/// A section's checks under its key, for the field `checks`.
struct NamedChecks {
  std::string key;
  std::vector<Check> value;
};

/// `checks` and `headings` are objects with a field for each section.
template <class Fields>
void describe_sections(Fields& fields, Described<Fields, std::vector<DoctorSection>>& sections) {
  std::vector<NamedChecks> checks;
  std::vector<Property> headings;
  for (const DoctorSection& section : sections) {
    checks.push_back({section.key, section.checks});
    headings.push_back({section.key, section.heading});
  }
  fields("checks", checks);
  fields("headings", headings);
  if constexpr (!Fields::kWrites) {
    sections.clear();
    for (NamedChecks& each : checks) {
      const auto heading = std::ranges::find(headings, each.key, &Property::key);
      sections.push_back(
          {each.key, heading == headings.end() ? each.key : heading->value, std::move(each.value)});
    }
  }
}

template <class Fields>
void describe_content(Fields& fields, Described<Fields, DoctorReport>& report) {
  fields("libraries", report.libraries);
  describe_sections(fields, report.sections);
  fields("noise_floor", report.noise_floor);
}

std::string write_record(const DoctorReport& record) { return write_envelope("doctor", record); }

namespace {

// Returns the numbers of lines that are ok, limit and miss.
std::array<std::int64_t, 3> count_checks(const std::vector<DoctorSection>& sections) {
  std::array<std::int64_t, 3> counts{};
  for (const DoctorSection& section : sections) {
    for (const Check& check : section.checks) ++counts[static_cast<std::size_t>(check.status)];
  }
  return counts;
}

}  // namespace

Text record_text(const DoctorReport& record, const ShownPage& shown) {
  return doctor_text(record, shown.width);
}

Headline headline_of(const DoctorReport& record) {
  const std::array<std::int64_t, 3> counts = count_checks(record.sections);
  return {.subject = "What limits precision on this machine",
          .number = counts[1] == 0 ? "nothing" : counted(counts[1], "limit"),
          .marks = {fmt::format("{} ok", counts[0]), fmt::format("{} missing", counts[2])}};
}

void read_fields(const Json& document, const std::string& name, DoctorReport& record) {
  record = read_envelope<DoctorReport>(document, name);
}

namespace {

constexpr std::size_t kTextColumn = 11;  // after the longest mark

std::string_view mark(Check::Status status) {
  switch (status) {
    case Check::Status::good: return "ok";
    case Check::Status::limits: return "limits";
    case Check::Status::missing: return "missing";
  }
  return "";
}

Text check_text(const Check& check, std::size_t width) {
  const std::string sentence = fmt::format("{}: {}", one_line(check.subject), one_line(check.sentence));
  std::vector<std::string> remedy;
  if (!check.remedy.empty()) remedy.push_back("remedy: " + one_line(check.remedy));
  return status_item(mark(check.status), sentence, width, kTextColumn, std::move(remedy));
}

std::string summary(const std::vector<DoctorSection>& sections) {
  const std::array<std::int64_t, 3> counts = count_checks(sections);
  return fmt::format("{} ok; {} what can be measured here; {} missing.\n", counts[0],
                     counted(counts[1], "line") + (counts[1] == 1 ? " limits" : " limit"), counts[2]);
}

}  // namespace

Text doctor_text(const DoctorReport& report, std::size_t width) {
  const std::vector<DoctorSection>& sections = report.sections;
  Text text;
  for (const DoctorSection& section : sections) {
    text += section.heading + '\n';
    for (const Check& check : section.checks) text += check_text(check, width);
    text += '\n';
  }
  text += summary(sections);
  if (!report.device.id.empty()) {
    text += wrapped(
        fmt::format("To check the tool's numbers here: jitterscope selftest --device {}", report.device.id),
        width);
  }
  return text;
}

namespace {

using Status = Check::Status;

Check device_check(const DeviceListing& listing, const DoctorReport& report) {
  const bool chosen = listing.id == report.device.id;
  if (!listing.problem.empty()) return {listing.id, Status::missing, listing.problem, ""};
  return {listing.id, Status::good, listing.name + (chosen ? " (the one looked at here)" : ""), ""};
}

struct LibraryUse {
  std::string_view name, use, remedy, place = "or name its folder in JITTERSCOPE_LIBRARY_PATH";
};
constexpr LibraryUse kLibraryUses[] = {
    {"onednn", "conv2d, matmul and linear on the CPU", "install oneDNN (Debian: libdnnl-dev)"},
    {"libcuda", "everything on the GPU", "install NVIDIA's driver; start a container with --gpus all"},
    {"nvml", "sensors, limits and processes of the GPU",
     "install the driver's libnvidia-ml.so.1; in a container add 'utility' to NVIDIA_DRIVER_CAPABILITIES"},
    {"cudnn", "conv2d on the GPU", "install cuDNN 9 (pip install nvidia-cudnn-cu12, or -cu13)"},
    {"cublaslt", "matmul and linear on the GPU",
     "install cuBLAS (pip install nvidia-cublas-cu12, or nvidia-cublas for CUDA 13)"},
    {"cupti", "kernel times for comparison",
     "install CUPTI (pip install nvidia-cuda-cupti-cu12, or nvidia-cuda-cupti for CUDA 13)"},
    {"nccl", "collectives of several GPUs",
     "install NCCL (pip install nvidia-nccl-cu12, or nvidia-nccl-cu13 for CUDA 13)"},
    {"nvrtc", "kernels of your own, by cuda:FILE.cu:KERNEL",
     "install NVRTC (pip install nvidia-cuda-nvrtc-cu12, or nvidia-cuda-nvrtc for CUDA 13)"},
    {"torch", "any operator of PyTorch, by aten::…",
     "build it beside your PyTorch: scripts/build-torch-plugin",
     "or name its file in JITTERSCOPE_TORCH_PLUGIN"},
};

Check library_check(const LibraryInfo& library) {
  const auto* use = std::find_if(std::begin(kLibraryUses), std::end(kLibraryUses),
                                 [&](const LibraryUse& entry) { return entry.name == library.name; });
  const bool known = use != std::end(kLibraryUses);
  const std::string purpose = known ? fmt::format("; for {}", use->use) : std::string();
  if (library.problem.empty()) {
    return {library.name, Status::good, fmt::format("{} in {}{}", library.version, library.path, purpose),
            ""};
  }
  const std::string remedy =
      known ? fmt::format("{}, {}", use->remedy, use->place) : std::string("install it");
  return {library.name, Status::missing, library.problem + purpose, remedy};
}

// Removes libraries, which have their own section.
std::vector<Check> without_libraries(const DoctorReport& report, const std::vector<Check>& checks) {
  std::vector<Check> rest;
  for (const Check& check : checks) {
    const auto is_subject = [&](const LibraryInfo& library) { return library.name == check.subject; };
    if (std::none_of(report.libraries.begin(), report.libraries.end(), is_subject)) rest.push_back(check);
  }
  return rest;
}

std::vector<Check> host_lines(const DoctorReport& report, const std::vector<Check>& host_checks) {
  std::vector<Check> lines;
  // These properties are not among the CPU's checks.
  constexpr std::string_view kShown[] = {"kernel", "operating_system", "cpu", "container"};
  for (const Property& property : report.environment.host) {
    if (std::find(std::begin(kShown), std::end(kShown), property.key) == std::end(kShown)) continue;
    std::string subject = property.key;
    std::replace(subject.begin(), subject.end(), '_', ' ');
    lines.push_back({subject, Status::good, property.value, ""});
  }
  for (Check& check : without_libraries(report, host_checks)) lines.push_back(std::move(check));
  return lines;
}

}  // namespace

std::vector<DoctorSection> doctor_sections(const DoctorReport& report, const MachineChecks& machine) {
  std::vector<DoctorSection> sections;
  const auto add = [&](std::string key, std::string heading, std::vector<Check> checks) {
    if (!checks.empty()) sections.push_back({std::move(key), std::move(heading), std::move(checks)});
  };
  std::vector<Check> devices, libraries;
  for (const DeviceListing& listing : machine.devices) devices.push_back(device_check(listing, report));
  for (const LibraryInfo& library : report.libraries) libraries.push_back(library_check(library));
  add("devices", "Devices", std::move(devices));
  add("libraries", "Libraries", std::move(libraries));
  add("device", "GPU " + report.device.id, without_libraries(report, machine.device_checks));
  add("host", "Host", host_lines(report, machine.host_checks));
  if (report.noise_floor) {
    const std::string time = duration_text(report.noise_floor->duration);
    add("noise_floor", fmt::format("Noise floor of {}, measured in {}", report.device.id, time),
        noise_floor_checks(*report.noise_floor));
  }
  return sections;
}

namespace {

constexpr double kUsualPrecision = 0.005;  // the default of `run`

// A median over rounds is known better than rounds are. Above this spread, rounds are of several kinds.
constexpr double kWideSpread = 0.05;

Check events_check(const Calibration& calibration) {
  const InstrumentConstant& events = calibration.events;
  const Nanoseconds shortest = events.uncertainty / kUsualPrecision;
  const std::string sentence = fmt::format(
      "a pair of marks adds {}, which is subtracted; times from {} on are known to ±0.5 %; the timer "
      "steps by {}",
      time_with_error_text(events.value, events.uncertainty), time_text(shortest, 0.05),
      time_text(events.grain, 0.05));
  if (shortest <= microseconds(10)) return {"events", Status::good, sentence, ""};
  const Nanoseconds slope_error = calibration.graph.uncertainty;
  if (slope_error > Nanoseconds(0) && slope_error < events.uncertainty / 2) {
    return {"events", Status::limits, sentence,
            "leave --instrument at auto, which reads short launches by slopes of graphs"};
  }
  return {"events", Status::limits, sentence, "take larger operations, or repeat when the machine is quiet"};
}

Check graph_check(const Calibration& calibration) {
  const InstrumentConstant& graph = calibration.graph;
  if (calibration.marks_are_of_host) {
    return {
        "graph", Status::good,
        "the slope between two recordings is read by the same clock, and the marks' own time falls out of it",
        ""};
  }
  if (graph.value == Nanoseconds(0)) {
    const std::string error =
        graph.uncertainty > Nanoseconds(0) ? ", to ± " + time_text(graph.uncertainty, 0.05) : "";
    return {"graph", Status::good, "the slope between recordings calibrates the marks" + error, ""};
  }
  return {"graph", Status::good,
          fmt::format("the slope between two recordings adds {}, which is subtracted",
                      time_with_error_text(graph.value, graph.uncertainty)),
          ""};
}

// Records of earlier versions have a cost of 0 where the host does the work itself.
std::optional<Check> launch_check(const NoiseFloor& floor) {
  if (floor.calibration.marks_are_of_host) {
    return Check{"launch cost", Status::good,
                 "the host's processor does the work itself, so a launch has no cost apart from it", ""};
  }
  if (!floor.launch_cost || !(*floor.launch_cost > Nanoseconds(0))) return std::nullopt;
  return Check{
      "launch cost", Status::good,
      fmt::format("a launch costs the host {}: operations shorter than that wait for it, unless they are "
                  "queued ahead or recorded as a graph",
                  time_text(*floor.launch_cost, 0.02)),
      ""};
}

Check result_check(const Result& result) {
  const std::string operation = to_string(result.subject);
  if (!result.failure.empty()) return {operation, Status::limits, result.failure, ""};
  if (result.measurements.empty() || result.measurements.front().rounds.empty()) {
    return {operation, Status::limits, "was not measured: interrupted", "run doctor again"};
  }
  const Measurement& measurement = result.measurements.front();
  const RoundSpread spread = round_spread(measurement);
  const double width = (spread.p95 - spread.p5) / measurement.time.median;
  const std::string rounds =
      has_interval(measurement.time) ? fmt::format(" over {} rounds", measurement.time.rounds) : "";
  const std::string sentence =
      fmt::format("{}{} by {}; 9 of 10 rounds lie within {}, {} of the median",
                  estimate_text(measurement.time), rounds, to_string(measurement.instrument),
                  time_range_text(spread.p5, spread.p95, width / 10), percent_text(width));
  if (!has_interval(measurement.time) || measurement.time.precision() > kUsualPrecision) {
    return {operation, Status::limits, sentence,
            "fix what is marked 'limits' above, or give each operation more time (run --time-limit)"};
  }
  if (width > kWideSpread) {
    return {operation, Status::limits, sentence,
            "fix what is marked 'limits' above; until then compare medians and intervals, not single runs"};
  }
  return {operation, Status::good, sentence, ""};
}

Check cache_check(const CacheProof& proof) {
  const double precision = 0.01;
  const std::string sentence =
      fmt::format("a probe takes {} after one eviction, {} after four, and {} warm",
                  time_text(proof.evicted_read, precision), time_text(proof.untouched_read, precision),
                  time_text(proof.cached_read, precision));
  if (proof.proven) return {"cold cache", Status::good, sentence + ": one eviction evicts", ""};
  return {"cold cache", Status::limits, sentence + ": this does not prove that one eviction evicts",
          "repeat when the machine is quiet; until then take cold times as lower bounds"};
}

}  // namespace

std::vector<Check> noise_floor_checks(const NoiseFloor& floor) {
  std::vector<Check> checks = {events_check(floor.calibration), graph_check(floor.calibration)};
  if (std::optional<Check> launch = launch_check(floor)) checks.push_back(std::move(*launch));
  for (const Result& result : floor.results) checks.push_back(result_check(result));
  if (floor.cache_proof) checks.push_back(cache_check(*floor.cache_proof));
  if (floor.interrupted) checks.push_back({"noise floor", Status::limits, "interrupted", "run doctor again"});
  return checks;
}

}  // namespace jitterscope

// Plots the precision that the doctor's few seconds of measuring reached.

namespace jitterscope::report {
namespace {

constexpr int kLongestOperation = 320;  // in pixels

}  // namespace

std::vector<Plot> plots_of(const DoctorReport& record) {
  if (!record.noise_floor) return {};
  Json rows = Json::array();
  std::vector<TableColumn> table =
      columns_of({"operation", ">time", ">interval, ±", ">5 % of rounds below", ">95 % below"});
  for (const Result& result : record.noise_floor->results) {
    if (result.measurements.empty() || result.measurements.front().rounds.empty()) continue;
    const Measurement& measurement = result.measurements.front();
    const TimeEstimate& time = measurement.time;
    if (!has_interval(time) || !(time.median > Nanoseconds(0))) continue;
    const RoundSpread spread = round_spread(measurement);
    const std::string name = one_line(to_string(result.subject));
    add_row(table, {name, time_text(time.median, time.precision()), percent_text(time.precision()),
                    time_text(spread.p5, 1e-4), time_text(spread.p95, 1e-4)});
    rows.push_back(Json{{"operation", name},
                        {"change", 0.0},
                        {"low", percent_change(time.low / time.median)},
                        {"high", percent_change(time.high / time.median)},
                        {"p5", percent_change(spread.p5 / time.median)},
                        {"p95", percent_change(spread.p95 / time.median)},
                        {"shown", estimate_text(time)}});
  }
  if (rows.empty()) return {};
  const auto x = [](const char* field) {
    return filled(R"({"field": "$field:Q", "title": "away from the median, %"})", "field", field);
  };
  const Json view = filled(
      R"({
    "height": "$height", "data": "$rows",
    "layer": [
      {"name": "intervals", "mark": {"type": "bar", "color": "$blue", "height": 18, "opacity": 0.45},
       "encoding": {"y": "$y", "x": "$low", "x2": "high", "tooltip": "$tips"}},
      {"name": "rounds", "mark": {"type": "bar", "color": "$orange", "height": 6, "opacity": 0.9},
       "encoding": {"y": "$y", "x": "$early", "x2": "p95", "tooltip": "$tips"}},
      {"name": "medians", "mark": {"type": "point", "filled": true, "size": 50, "color": "$blue", "opacity": 1},
       "encoding": {"y": "$y", "x": "$change", "tooltip": "$tips"}}
    ]
  })",
      "height", height_of(table[0].cells, 34), "rows", rows, "low", x("low"), "early", x("p5"), "change",
      x("change"), "y", names_axis("operation", table[0].cells, kLongestOperation), "tips",
      channels(R"({"tooltip": [["operation", "operation"], ["shown", "time"], ["low", "interval from, %"],
      ["high", "to, %"], ["p5", "5 % of rounds below, %"], ["p95", "95 % below, %"]]})")["tooltip"]);
  return {Plot{.id = "noise_floor",
               .title = "How precisely times are known here: " + one_line(record.device.name),
               .caption = "Blue: the 95 % interval of the median. Orange: nine rounds in ten.",
               .spec = single_plot(view),
               .table = std::move(table)}};
}

}  // namespace jitterscope::report
