// What is read of captures, and of traces of other tools: `capture show`, `capture compare`, `capture
// export`.
#include "commands/capture/show_command.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/files.hpp"
#include "base/names.hpp"
#include "base/quantity_text.hpp"
#include "capture/sampler.hpp"
#include "cli/invocation.hpp"
#include "cli/output_flags.hpp"
#include "commands/capture/comparison_table.hpp"
#include "commands/capture/details.hpp"
#include "commands/capture/record.hpp"
#include "jitterscope/error.hpp"
#include "measure/machine.hpp"
#include "output/output_file.hpp"
#include "output/text.hpp"
#include "timeline/analysis.hpp"
#include "timeline/compare.hpp"
#include "timeline/exports.hpp"

namespace jitterscope::cli {
namespace {

constexpr const char* kCaptureShowExamples = R"(Examples:
  jitterscope capture show python3.capture
  jitterscope capture show python3.capture --kernel 'gemm|nvjet'
  jitterscope capture show python3.capture --step slowest
  jitterscope capture show profile.json.gz --html profile.html
  jitterscope capture show report.sqlite --json -

Reads a capture's folder, a trace of torch.profiler, or what `nsys export --type sqlite` made.

Exit codes: 0 done, 2 usage, 5 a part of the file or folder is missing or damaged: the rest is shown.)";

constexpr const char* kCaptureCompareExamples = R"(Examples:
  jitterscope capture compare monday.capture tuesday.capture
  jitterscope capture compare a1.capture,a2.capture,a3.capture b1.capture,b2.capture,b3.capture
  jitterscope capture compare train.capture loop.capture --details

With several captures on both sides, what differs from process to process is in the intervals.)";

constexpr const char* kCaptureExportExamples = R"(Examples:
  jitterscope capture export python3.capture --perfetto trace.perfetto    (for https://ui.perfetto.dev)
  jitterscope capture export python3.capture --sqlite capture.sqlite      (tables as Nsight Systems names them)
  jitterscope capture export python3.capture --chrome chrome.json --csv kernels.csv

The folder's own files are Arrow streams: pyarrow.ipc.open_stream(FILE).read_all() reads each.)";

struct CaptureShowFlags {
  std::string path, kernel, step, range;
  std::optional<std::uint32_t> rank;
  RecordFlags files;
  PageFlags page;
};

// Tables of kernels have no findings to choose from, and no words that need explaining.
void add_table_flags(CLI::App& command, PageFlags& page, const char* details) {
  command.add_option("--top", page.top, "show this many kernels, or all (default: 8; with --details all)");
  command.add_flag("--details", page.details, details);
}

std::optional<std::size_t> number_of_step(const std::string& step) {
  if (step == "slowest") return std::nullopt;
  const std::optional<std::int64_t> number = read_count(step);
  if (!number || *number < 1) {
    throw UsageError(fmt::format("--step: '{}' is neither a step's number, from 1 on, nor `slowest`", step));
  }
  return static_cast<std::size_t>(*number);
}

// Returns the first thing that is missing of what was written; empty if all of it was read. A process that
// was killed has written no more.
std::string missing_of(const timeline::Timeline& timeline, bool is_folder) {
  if (!timeline.problems.empty()) return timeline.problems.front();
  for (const timeline::Process& process : timeline.processes) {
    for (const timeline::Loss& loss : process.losses) {
      if (!is_folder || loss.kind == capture::LossKind::disk) return loss.sentence;
    }
  }
  return {};
}

// Reads what there is of a capture or trace, as `run` reads damaged files: what is missing is said, and makes
// the exit code 5. Throws UsageError if nothing can be read.
timeline::Timeline read_source(const std::string& path, Invocation& invocation) {
  const bool is_folder = std::filesystem::is_directory(path);
  if (!is_folder) {
    require_readable(path);
  } else if (!capture::is_capture(path)) {
    throw UsageError(path +
                     ": this is a folder, and no capture's: it has no capture.json; `jitterscope capture -- "
                     "COMMAND` makes one");
  }
  timeline::Timeline timeline = timeline::read_timeline(path);
  const std::string missing = missing_of(timeline, is_folder);
  if (missing.empty()) return timeline;
  const auto has_work = [](const timeline::Process& process) { return process.work() > 0; };
  const std::string problem = fmt::format("{}: {}", path, missing);
  if (!is_folder && std::ranges::none_of(timeline.processes, has_work))
    throw UsageError(problem + " (no work of a GPU is in what can be read)");
  fmt::print(stderr, "jitterscope: {}\n", one_line(problem));
  invocation.exit_code = ExitCode::failed;
  return timeline;
}

void show_capture(const CaptureShowFlags& flags, Invocation& invocation) {
  RecordFiles files(flags.files);
  const ShownPage shown = flags.page.shown();
  const timeline::Timeline timeline = read_source(flags.path, invocation);
  const timeline::Analysis analysis = timeline::analyse(timeline, {flags.rank, flags.range});
  if (!flags.kernel.empty()) {
    print_result(capture_kernels_text(timeline, analysis, flags.kernel, shown));
  } else if (!flags.step.empty()) {
    print_result(capture_step_text(timeline, analysis, number_of_step(flags.step), shown));
  } else {
    CaptureRecord record = make_capture_record(timeline, analysis);
    record.environment = read_environment(invocation.command_line);
    files.write(record, flags.page);
  }
}

std::vector<timeline::AnalysedCapture> read_captures(const std::string& paths, const std::string& range,
                                                     Invocation& invocation) {
  std::vector<timeline::AnalysedCapture> captures;
  for (const std::string& path : split_at_commas(paths)) {
    if (path.empty())
      throw UsageError(fmt::format("'{}': a capture's name is missing beside a comma", paths));
    timeline::AnalysedCapture each;
    each.timeline = read_source(path, invocation);
    each.analysis = timeline::analyse(each.timeline, {std::nullopt, range});
    captures.push_back(std::move(each));
  }
  return captures;
}

struct CaptureCompareFlags {
  std::string first, second, range;
  PageFlags page;
};

void compare_two_captures(const CaptureCompareFlags& flags, Invocation& invocation) {
  const ShownPage shown = flags.page.shown();
  const auto first = read_captures(flags.first, flags.range, invocation);
  const auto second = read_captures(flags.second, flags.range, invocation);
  print_result(capture_comparison_text(timeline::compare_captures(first, second), shown));
}

struct CaptureExportFlags {
  std::string path, perfetto, sqlite, chrome, csv;
};

void export_capture(const CaptureExportFlags& flags, Invocation& invocation) {
  using Export = void (*)(const timeline::Timeline&, const std::filesystem::path&);
  const std::pair<const std::string*, Export> wanted[] = {{&flags.perfetto, timeline::export_perfetto},
                                                          {&flags.sqlite, timeline::export_sqlite},
                                                          {&flags.chrome, timeline::export_chrome},
                                                          {&flags.csv, timeline::export_csv}};
  const auto is_asked = [](const auto& each) { return !each.first->empty(); };
  if (std::none_of(std::begin(wanted), std::end(wanted), is_asked)) {
    throw UsageError("capture export needs a file to write: --perfetto, --sqlite, --chrome or --csv FILE");
  }
  const timeline::Timeline timeline = read_source(flags.path, invocation);
  for (const auto& [file, write] : wanted) {
    if (!file->empty()) write(timeline, *file);
  }
}

}  // namespace

void add_capture_readers(CLI::App& capture, Invocation& invocation) {
  constexpr const char* kRead =
      "a capture's folder, a trace of torch.profiler, or Nsight Systems' SQLite export";
  constexpr const char* kRanges = "steps begin with the program's own ranges (NVTX) of this name";
  auto [show, shown] = declare_command<CaptureShowFlags>(
      capture, "show", "say what a program did on its GPUs, and what its times follow", kCaptureShowExamples,
      [&invocation](const CaptureShowFlags& flags, const CLI::App&) { show_capture(flags, invocation); });
  show.add_option("capture", shown.path, kRead)->required();
  show.add_option("--kernel", shown.kernel,
                  "all that is known of kernels whose names match this regular expression");
  show.add_option("--step", shown.step, "one step: its number, or `slowest`");
  show.add_option("--rank", shown.rank, "only the process that had this rank");
  show.add_option("--ranges", shown.range, kRanges);
  shown.files.add_to(show, "write everything that was found to PATH or - (stdout)");
  add_table_flags(show, shown.page,
                  "all kernels, with all columns and all that each follows, and all losses");

  auto [compare, compared] = declare_command<CaptureCompareFlags>(
      capture, "compare", "say what differs between two captures, step by step and kernel by kernel",
      kCaptureCompareExamples, [&invocation](const CaptureCompareFlags& flags, const CLI::App&) {
        compare_two_captures(flags, invocation);
      });
  compare
      .add_option("first", compared.first,
                  "a capture or trace; several of the same program, joined by commas")
      ->required();
  compare.add_option("second", compared.second, "the same, of what is compared with it")->required();
  compare.add_option("--ranges", compared.range, kRanges);
  add_table_flags(compare, compared.page,
                  "all kernels, those that did not change and those of one side among them");

  auto [exporter, exported] = declare_command<CaptureExportFlags>(
      capture, "export", "write a capture as a file for other tools", kCaptureExportExamples,
      [&invocation](const CaptureExportFlags& flags, const CLI::App&) { export_capture(flags, invocation); });
  exporter.add_option("capture", exported.path, kRead)->required();
  exporter.add_option("--perfetto", exported.perfetto, "file for https://ui.perfetto.dev");
  exporter.add_option("--sqlite", exported.sqlite, "database with the table names of Nsight Systems");
  exporter.add_option("--chrome", exported.chrome, "trace events, as torch.profiler writes them");
  exporter.add_option("--csv", exported.csv, "one row for each kernel, copy and memset");
}

}  // namespace jitterscope::cli
