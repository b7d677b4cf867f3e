#include "capture/capture_info.hpp"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>

#include "base/files.hpp"
#include "output/output_file.hpp"
#include "record/describe_measurement.hpp"
#include "record/envelope.hpp"
#include "record/values.hpp"

extern char** environ;  // NOLINT(readability-redundant-declaration): POSIX wants the program to declare it

namespace jitterscope {

template <class Fields>
void describe(Fields& fields, Described<Fields, EndedProcess>& process) {
  fields("pid", process.pid);
  fields.where(process.signal == 0, "exit_code", process.exit_code);
  fields.where(process.signal != 0, "signal", process.signal);
}

namespace capture {
namespace {

constexpr std::string_view kFormat = "jitterscope-capture";
/// Raised if a reader of the last version could misread a new capture.
constexpr std::int64_t kVersion = 1;

// Variables whose values are written, and those of which no more than the names are: values may be secrets.
constexpr std::string_view kTold[] = {"CUDA_", "PYTORCH_", "NCCL_", "OMP_"};
constexpr std::string_view kNamed[] = {"CUBLAS",  "CUDNN_", "DS_",        "FLASH",   "JAX_",  "KMP_",
                                       "LD_",     "LOCAL_", "MKL_",       "NVIDIA_", "NVTE_", "OMPI_",
                                       "PYTHON",  "RANK",   "SGLANG_",    "SLURM_",  "TF_",   "TORCH",
                                       "TRITON_", "VLLM_",  "WORLD_SIZE", "XLA_"};

bool begins_with_any(std::string_view name, std::span<const std::string_view> beginnings) {
  return std::ranges::any_of(beginnings, [&](std::string_view each) { return name.starts_with(each); });
}

}  // namespace

std::string_view to_string(DetailChoice choice) {
  switch (choice) {
    case DetailChoice::light: return "light";
    case DetailChoice::mixed: return "mixed";
    case DetailChoice::full: return "full";
  }
  return "";
}

std::string_view to_string(GraphChoice choice) {
  switch (choice) {
    case GraphChoice::node: return "node";
    case GraphChoice::whole: return "whole";
  }
  return "";
}

template <class Fields>
void describe(Fields& fields, Described<Fields, Settings>& settings) {
  Settings each = settings;
  fields("detail", each.detail);
  fields("graphs", each.graphs);
  // Times in milliseconds, under their names; the choices are words here.
  capture::describe(each, [&](std::string_view name, std::uint64_t& number) {
    if (name != "detail" && name != "graphs") fields(name, number);
  });
  fields("ranges", each.ranges);
  if constexpr (!Fields::kWrites) settings = each;
}

template <class Fields>
void describe(Fields& fields, Described<Fields, CapturedGpu>& gpu) {
  fields("uuid", gpu.uuid);
  fields("name", gpu.name);
  fields("power_limit_watts", gpu.power_limit);
  fields("maximum_clock_hertz", gpu.maximum_clock);
  fields("maximum_memory_clock_hertz", gpu.maximum_memory_clock);
}

template <class Fields>
void describe(Fields& fields, Described<Fields, CaptureInfo>& info) {
  fields("command", info.command);
  fields("working_directory", info.working_directory);
  fields("environment", info.environment);
  fields("variables", info.variables);
  fields("further_variables", info.further_variables);
  fields("settings", info.settings);
  fields("driver_version", info.driver_version);
  fields("gpus", info.gpus);
  fields("sensors_problem", info.sensors_problem);
  fields("begin_nanoseconds", info.begin);
  fields("end_nanoseconds", info.end);
  fields("exit_code", info.exit_code);
  const bool has_ended = info.end.has_value();
  fields.where(has_ended, "ended", info.ended);
  fields.where(has_ended, "processes_left", info.processes_left);
  fields.where(has_ended, "missing_samples", info.missing_samples);
}

template <class Fields>
void describe(Fields& fields, Described<Fields, ProcessInfo>& info) {
  fields.require("pid");
  fields("pid", info.pid);
  fields("begin", info.begin);
  fields("command", info.command);
  fields("rank", info.rank);
  fields("driver_version", info.driver_version);
  fields("cupti_version", info.cupti_version);
  fields("cupti_path", info.cupti_path);
  fields("problem", info.problem);
}

namespace {

std::filesystem::path info_file(const std::filesystem::path& capture) { return capture / "capture.json"; }

std::string text_of(const std::filesystem::path& file) {
  FileText read = file_text(file);
  if (read.error) {
    throw UsageError(fmt::format("{} cannot be read ({}): name a folder that `jitterscope capture` made",
                                 file.string(), read.error.message()));
  }
  return std::move(read.text);
}

/// The first fields of capture.json.
struct Head {
  std::string format;
  std::int64_t version = 0;
};
template <class Fields>
void describe(Fields& fields, Described<Fields, Head>& head) {
  fields("format", head.format);
  fields("version", head.version);
}

}  // namespace

void write_capture_info(const std::filesystem::path& capture, const CaptureInfo& info) {
  Json document;
  Writer fields(document);
  const Head head{std::string(kFormat), kVersion};
  describe(fields, head);
  describe(fields, info);
  OutputFile(info_file(capture).string()).commit(json_text(document));
}

CaptureInfo read_capture_info(const std::filesystem::path& capture) {
  const std::string name = info_file(capture).string();
  const Json document = parse_document(text_of(name), name);
  const Head head = read_value<Head>(document, name);
  if (head.format != kFormat) {
    throw OtherFormat(name + " is of no capture: name a folder that `jitterscope capture` made");
  }
  if (head.version != kVersion) {
    throw OtherFormat(
        fmt::format("{}: this capture has version {}, and this program reads version {}; use the program "
                    "that wrote it",
                    name, head.version, kVersion));
  }
  return read_value<CaptureInfo>(document, name);
}

void add_variables(CaptureInfo& info) {
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::size_t equals = text.find('=');
    if (equals == std::string_view::npos) continue;
    const std::string name(text.substr(0, equals));
    if (begins_with_any(name, kTold)) {
      info.variables.push_back({name, std::string(text.substr(equals + 1))});
    } else if (begins_with_any(name, kNamed)) {
      info.further_variables.push_back(name);
    }
  }
  std::ranges::sort(info.variables, {}, &Property::key);
  std::ranges::sort(info.further_variables);
}

ProcessInfo read_process_info(const std::filesystem::path& process_folder) {
  const std::string name = (process_folder / "process.json").string();
  return read_value<ProcessInfo>(parse_document(text_of(name), name), name);
}

}  // namespace capture
}  // namespace jitterscope
