#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>

#include "cli/commands.hpp"
#include "cli/measure_flags.hpp"
#include "cli/page_flags.hpp"
#include "cli/plan.hpp"
#include "cli/provider_choice.hpp"
#include "cli/run_loop.hpp"
#include "measure/environment.hpp"
#include "output/csv.hpp"
#include "output/json.hpp"
#include "output/output_file.hpp"
#include "output/progress.hpp"
#include "output/run_summary.hpp"
#include "output/run_table.hpp"

namespace jitterscope::cli {
namespace {

struct RunFlags {
  std::vector<std::string> targets;
  MeasureFlags measure;
  PageFlags page;
  std::string json, csv, csv_launches, provider = "auto", only;
  std::vector<std::int64_t> iterations;
  bool verify = false, dry_run = false, no_ceilings = false, kernels = false;
  bool same_data = false, fresh_data = false, in_sequence = false;
  std::int64_t placement = 0;
};

constexpr const char* kRunExamples = R"(Examples:
  jitterscope run resnet18
  jitterscope run matmul:m=512,n=512,k=512,dtype=bf16 --device cuda
  jitterscope run conv2d:n=1..64*2,c=64,hw=56,k=64,rs=3,pad=1,dtype=f16,layout=nhwc --cache cold
  jitterscope run add:count=64Ki --load burst,sustained --json result.json
  jitterscope run matmul:m=256..4096*2,n=1024,k=1024 --csv times.csv
  jitterscope run resnet50:batch=64,dtype=f16,layout=nhwc,direction=fprop --kernels
  jitterscope run trace.json.gz --device cuda --provider torch
  jitterscope run model.onnx:batch=8 --cache warm
  jitterscope run conv2d:n=8,c=64,hw=56,k=128,rs=3,pad=1 --iterations 1,10,100,1000
  jitterscope run resnet18:batch=64 --in-sequence
  jitterscope run resnet50 --only 'layer1.*conv'
  jitterscope run spin:ns=10000 --instrument host --dry-run
  jitterscope run softmax:rows=4096,columns=4096 --device cuda --placement 1
  jitterscope run resnet18 --device virtual:h200,without=noise+spikes --seed 2

Exit codes: 0 done, 1 --verify found a wrong result, 2 usage, 3 device or library missing
(where only the tracer of --kernels is missing, the times are there), 4 measured but not to
the precision asked (of a sequence: the pass and nine calls of ten), 5 the operation failed,
or a call of a sequence, or a part of a file is missing or damaged, 130 interrupted.)";

std::vector<std::int64_t> checked_iterations(const std::vector<std::int64_t>& counts) {
  constexpr std::int64_t kMost = 1'000'000;
  for (const std::int64_t count : counts) {
    if (count < 1 || count > kMost) {
      throw UsageError(fmt::format("--iterations: counts from 1 to {}, as in 1,10,100,1000", kMost));
    }
  }
  return counts;
}

bool is_stdout(const std::string& path) { return path == "-" || path == "/dev/stdout"; }

// What each flag may do alone, and what makes no sense together.
void check_combinations(const RunFlags& flags) {
  const std::vector<std::string> paths = {flags.json, flags.csv, flags.csv_launches};
  if (std::ranges::count_if(paths, is_stdout) > 1) {
    throw UsageError("--json, --csv and --csv-launches would mix on stdout: write all but one to files");
  }
  if (!flags.fresh_data) return;
  if (flags.in_sequence) {
    throw UsageError(
        "--fresh-data with --in-sequence: in a network each call reads what another one wrote; leave one of "
        "them out");
  }
  if (flags.measure.queue == "graph" || flags.measure.instrument == "graph") {
    throw UsageError(
        "--fresh-data with graph: a recording launches on the same operands each time; choose another "
        "--queue or --instrument");
  }
}

// Between two passes the queue runs empty while the host reads the trace: that is no sustained load.
void require_burst(const MeasureOptions& options) {
  if (std::ranges::find(options.loads, Load::burst) != options.loads.end()) return;
  throw UsageError(
      "--in-sequence: a network runs in sequence in short passes with idle between, not under sustained "
      "load; say --load burst, or --load burst,sustained to have its layers alone under both");
}

// Sustained loads take many seconds, of a whole model minutes, and heat the chip for what comes next: they
// are asked for, and for one operation half a second of it says whether they should be.
MeasureOptions options_for(const RunFlags& flags, const WorkList& work) {
  MeasureOptions options = flags.measure.options();
  if (flags.measure.loads.empty()) {
    options.loads = {Load::burst};
    options.load_probe = work.items.size() == 1 && !flags.in_sequence;
  }
  if (flags.in_sequence) require_burst(options);
  options.kernels = flags.kernels;
  options.fresh_data = flags.fresh_data;
  options.iterations = checked_iterations(flags.iterations);
  // Which of them a layer meets in its network is what the comparison shows.
  if (flags.in_sequence && flags.measure.caches.empty()) {
    options.caches = {CacheState::warm, CacheState::cold, CacheState::dirty, CacheState::produced};
  }
  return options;
}

// Where nobody named a device and there is no GPU, the numbers are a CPU's: that is said.
std::string note_on_device(const std::string& asked_for, const DeviceDescription& device) {
  if (asked_for != "auto" || device.id != "cpu") return {};
  std::string reason;
  for (const DeviceListing& listing : list_devices()) {
    if (listing.id.starts_with("cuda") && !listing.problem.empty()) reason = listing.problem;
  }
  // Details and what to do about it follow the reason; doctor has them.
  reason = reason.substr(0, std::min(reason.find(" ("), reason.find(';')));
  return fmt::format("No NVIDIA GPU can be used{}; timing on the CPU.",
                     reason.empty() ? "" : " (" + reason + ")");
}

class RunCommand {
 public:
  RunCommand(const RunFlags& flags, Invocation& invocation) : flags_(flags), invocation_(invocation) {}

  void run() {
    check_combinations(flags_);
    request_.work = read_targets(flags_.targets, flags_.only);
    request_.options = options_for(flags_, request_.work);
    page_ = flags_.page.page(request_.work.is_model);
    request_.verify = flags_.verify;
    request_.ceilings = !flags_.no_ceilings;
    if (!flags_.json.empty()) json_.emplace(flags_.json);
    if (!flags_.csv.empty()) csv_.emplace(flags_.csv);
    if (!flags_.csv_launches.empty()) csv_launches_.emplace(flags_.csv_launches);
    const std::unique_ptr<Device> device = open_device(flags_.measure.device, flags_.measure.seed);
    if (flags_.placement != 0) place(*device);
    record_.device = device->describe();
    record_.device_note = note_on_device(flags_.measure.device, record_.device);
    record_.environment = read_environment(invocation_.command_line);
    fit_to_device(request_.work, record_.device);
    // Nothing that PyTorch's operators give can be verified, and on a CPU it lies elsewhere after each run,
    // so that no later call of a sequence could read it.
    const bool keep_own = flags_.verify || (flags_.in_sequence && record_.device.id == "cpu");
    choose_provider(request_.work, parse_provider(flags_.provider), record_.device, keep_own);
    refuse_impossible(request_.work, record_.device);
    request_.in_sequence = flags_.in_sequence;
    if (flags_.in_sequence && request_.work.calls.empty()) {
      throw UsageError(
          "--in-sequence needs one model whose order of calls is known (a network by name, a trace), or "
          "operations");
    }
    record_.title = request_.work.title;
    record_.untimed = request_.work.untimed;
    record_.recorded_gpu_time = request_.work.recorded_gpu_time;
    record_.notes.insert(record_.notes.end(), request_.work.notes.begin(), request_.work.notes.end());
    if (!invocation_.settings.empty()) record_.notes.push_back(invocation_.settings);
    if (flags_.dry_run) {
      if (!record_.device_note.empty()) fmt::print("{}\n", record_.device_note);
      fmt::print("{}", plan_text(request_, record_.device, page_.width));
      return;
    }
    measure(*device);
  }

 private:
  void place(Device& device) {
    constexpr std::int64_t kMost = 1000;
    if (flags_.placement < 0 || flags_.placement > kMost) {
      throw UsageError(fmt::format("--placement: a number from 0 to {}", kMost));
    }
    device.choose_placement(flags_.placement);
    record_.notes.push_back(
        fmt::format("Operands lie in placement {} of the device's memory: compare with --placement 0.",
                    flags_.placement));
  }

  void measure(Device& device) {
    std::unique_ptr<ClockLock> lock;
    if (!flags_.measure.lock_clocks.empty()) lock = device.lock_clocks(flags_.measure.lock_clocks);
    ProgressLine line(stderr, [&] { return device.host_time(); });
    PlanPosition position{1, request_.work.items.size()};
    request_.options.progress = [&](const Progress& progress) { line.show(progress, position); };
    const StageListener stage = [&](const std::string& what, std::size_t number, std::size_t) {
      position.number = std::max<std::size_t>(1, number);
      Progress progress;
      progress.operation = what;
      line.show(progress, position);
    };
    stage("calibrating the instruments of " + record_.device.name, 0, 0);
    Session session(device);
    record_.calibration = session.calibration();
    invocation_.exit_code = run_all(session, request_, record_, stage, [&](const RunRecord& record) {
      if (json_) json_->save(run_json(record));
    });
    line.clear();
    print();
  }

  void print() {
    const bool is_taken = is_stdout(flags_.json) || is_stdout(flags_.csv) || is_stdout(flags_.csv_launches);
    if (!is_taken) fmt::print("{}", run_table(record_, page_));
    if (json_) json_->commit(run_json(record_));
    if (csv_) csv_->commit(run_summary_csv(record_));
    if (csv_launches_) csv_launches_->commit(launches_csv(record_));
  }

  const RunFlags& flags_;
  Invocation& invocation_;
  RunRequest request_;
  RunRecord record_;
  Page page_;
  std::optional<OutputFile> json_, csv_, csv_launches_;
};

}  // namespace

void add_run_command(CLI::App& app, Invocation& invocation) {
  auto flags = std::make_shared<RunFlags>();
  CLI::App* command = app.add_subcommand("run", "time operations, sweeps of them, or all layers of a model");
  command
      ->add_option(
          "targets", flags->targets,
          "operations (KIND:name=value,…), networks by name (NAME:batch=N,dtype=T,layout=L,direction=D), "
          "or files: execution and profiler traces of PyTorch, logs of cuDNN and cuBLAS, ONNX, models; "
          "behind a number k, M, G are powers of 1000, Ki, Mi, Gi of 1024")
      ->required();
  flags->measure.add_to(*command);
  command->add_flag("--verify", flags->verify, "compare each result with a float64 reference");
  command
      ->add_option(
          "--provider", flags->provider,
          "what runs a model's layers: auto (PyTorch itself where jitterscope has only a stand-in and "
          "the plug-in for PyTorch is there), torch (also operations that are typed), builtin")
      ->capture_default_str();
  command
      ->add_option(
          "--iterations", flags->iterations,
          "first run loops of so many launches, as 1,10,100,1000, and say how the time depends on it")
      ->transform(count_of("--iterations"))
      ->delimiter(',');
  command->add_option(
      "--only", flags->only,
      "time the layers in whose name or operation this regular expression is found, as conv1, "
      "'^layer[12]' or dtype=f16");
  command->add_flag(
      "--in-sequence", flags->in_sequence,
      "also run the model's calls in their order, in short passes with idle between, each timed "
      "where it runs");
  command->add_flag("--kernels", flags->kernels,
                    "trace the kernels that one launch runs, and how long each takes");
  CLI::Option* same =
      command->add_flag("--same-data", flags->same_data, "all launches on the same operands (the default)");
  command
      ->add_flag(
          "--fresh-data", flags->fresh_data,
          "each launch on the next of so many sets of operands that three times the last-level cache goes by "
          "before a set is taken again, in --iterations too; refused where memory does not hold them")
      ->excludes(same);
  command
      ->add_option(
          "--placement", flags->placement,
          "where operands lie in the GPU's memory: another number, other pages, and for many kernels "
          "a time that differs by some percent")
      ->capture_default_str();
  command->add_flag("--no-ceilings", flags->no_ceilings, "do not measure the device's best rates first");
  command->add_option("--json", flags->json, "write everything, raw rounds included, to PATH or - (stdout)");
  command->add_option("--csv", flags->csv,
                      "write a row for each operation and condition, its parameters as columns, to PATH or - "
                      "(stdout)");
  command->add_option("--csv-launches", flags->csv_launches,
                      "write a row for each launch to PATH or - (stdout)");
  flags->page.add_to(*command);
  command->add_flag("--dry-run", flags->dry_run, "print what would be measured and how long it takes");
  command->footer(kRunExamples);
  command->callback([flags, &invocation] { RunCommand(*flags, invocation).run(); });
}

}  // namespace jitterscope::cli
