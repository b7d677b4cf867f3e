#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "base/files.hpp"
#include "base/names.hpp"
#include "cli/invocation.hpp"
#include "cli/output_flags.hpp"
#include "cli/provider_choice.hpp"
#include "cli/python.hpp"
#include "cli/ranks.hpp"
#include "cli/run_flags.hpp"
#include "cli/run_on_devices.hpp"
#include "cli/run_request.hpp"
#include "cli/targets.hpp"
#include "commands/records.hpp"
#include "commands/run/files.hpp"
#include "device/open_device.hpp"
#include "experiment/run_plan.hpp"
#include "import/import.hpp"
#include "import/recognise.hpp"
#include "measure/machine.hpp"
#include "measure/run_record.hpp"
#include "output/output_file.hpp"
#include "output/progress.hpp"
#include "record/run_file.hpp"
#include "timeline/steps.hpp"
#include "timeline/timeline.hpp"

// Carries out `run`, and with --continue goes on where an earlier run was interrupted.

namespace jitterscope::cli {

/// Returns the record's file: FILE for both FILE and FILE.part.
std::string file_to_continue(const std::string& named);

/// Reads FILE.part if it exists, else FILE. Throws UsageError if neither holds a run.
RunRecord read_unfinished(const std::string& file);

/// Takes over what the earlier run finished. Device, conditions (RunRecord::asked) and notes of the record
/// are those of now. Throws UsageError, with the differences, if anything differs.
void take_over(RunRecord before, const std::string& file, const WorkList& work, RunRecord& record);

namespace {

constexpr const char* kRunExamples = R"(Examples:
  jitterscope run resnet18
  jitterscope run matmul:m=512,n=512,k=512,dtype=bf16 --device cuda
  jitterscope run conv2d:n=1..64*2,c=64,hw=56,k=64,rs=3,pad=1,dtype=f16,layout=nhwc --cache cold
  jitterscope run add:count=64Ki --load burst,sustained --json result.json
  jitterscope run matmul:m=256..4096*2,n=1024,k=1024 --csv times.csv
  jitterscope run resnet50:batch=64,dtype=f16,layout=nhwc,direction=fprop --kernels
  jitterscope run softmax:rows=4096,columns=4096 --device virtual --counters
  jitterscope run add:count=16Mi --counters dram__bytes_read.sum,sm__cycles_elapsed.avg
  jitterscope run trace.json.gz --device cuda --provider torch
  jitterscope run model.onnx:batch=8 --cache warm
  jitterscope run conv2d:n=8,c=64,hw=56,k=128,rs=3,pad=1 --iterations 1,10,100,1000
  jitterscope run resnet18:batch=64 --in-sequence
  jitterscope run resnet50 --only 'layer1.*conv'
  jitterscope run resnet18 --json result.json --continue result.json
  jitterscope run spin:ns=10000 --instrument host --dry-run
  jitterscope run softmax:rows=4096,columns=4096 --device cuda --placement 1
  jitterscope run layer_norm:rows=8192,columns=1024 --processes 8
  jitterscope run resnet18 --save main
  jitterscope run resnet18 --device virtual:h200,without=noise+spikes --seed 2
  jitterscope run matmul:m=8192,n=8192,k=8192,dtype=bf16 --device cuda:all
  mpirun -n 4 jitterscope run matmul:m=8192,n=8192,k=8192,dtype=bf16
  jitterscope run matmul:m=4096,n=4096,k=4096 --device virtual:h200 --local 2

Exit codes: 0 done, 1 --verify found a wrong result, 2 usage, 3 device or library missing
(if only the tracer of --kernels or the counters are missing, times are still printed), 4 --precision was given
and not reached, or a load was not steady (with --in-sequence: the pass, or more than one call in ten),
5 an operation or a call failed, or part of a file is missing or damaged, 130 interrupted.)";

// Says that times are a CPU's if no device was named and there is no GPU.
std::string note_on_device(const std::string& asked_for, const DeviceDescription& device) {
  if (asked_for != "auto" || !device.capabilities.is_host) return {};
  std::string reason;
  for (const DeviceListing& listing : list_devices()) {
    if (!listing.problem.empty()) reason = listing.problem;
  }
  // Keeps only the reason; `doctor` has details and remedies.
  reason = reason.substr(0, std::min(reason.find(" ("), reason.find(';')));
  return fmt::format("No NVIDIA GPU can be used{}; timing on the CPU.",
                     reason.empty() ? "" : " (" + reason + ")");
}

// Names the ranges of a profiler trace, for `capture show --ranges NAME`, since a run's own record has none.
Text ranges_text(const std::vector<std::string>& targets, std::size_t width) {
  constexpr std::size_t kNamed = 6;
  if (targets.size() != 1 || !is_file(targets.front())) return {};
  const std::string& file = targets.front();
  if (recognise(read_file(file).text) != FileKind::profiler_trace) return {};
  const timeline::Timeline trace = timeline::read_profiler_trace(file);
  const auto has_ranges = [](const timeline::Process& process) { return !process.ranges.empty(); };
  const auto process = std::ranges::find_if(trace.processes, has_ranges);
  if (process == trace.processes.end()) return {};
  return "\n" +
         wrapped(fmt::format("Ranges that the program named: {}. `jitterscope capture show {} --ranges NAME` "
                             "takes those that come again as its steps.",
                             one_line(timeline::ranges_in_words(*process, kNamed)), one_line(file)),
                 width);
}

class RunCommand {
 public:
  RunCommand(const RunFlags& flags, Invocation& invocation) : flags_(flags), invocation_(invocation) {}

  void run() {
    check_combinations(flags_);
    if (flags_.save.empty() && !flags_.history.folder.empty())
      throw UsageError("--history is the folder for --save NAME; without --save nothing is saved");
    if (flags_.local) start_local_ranks(*flags_.local, invocation_);
    if (invocation_.ranks && are_python(flags_.targets)) {
      throw UsageError(
          "Python functions are not timed on several ranks yet: start one process, or name an operation");
    }
    if (are_python(flags_.targets)) return run_python_command(flags_, invocation_);
    request_.work = read_targets(flags_.targets, flags_.only);
    if (!flags_.execution_trace.empty()) join_execution_trace(request_.work, flags_.execution_trace);
    request_.options = options_for(flags_, request_.work);
    page_ = flags_.page.page(request_.work.is_model);
    request_.verify = flags_.verify;
    request_.precision_was_asked = flags_.measure.asks_for_precision();
    request_.ceilings = !flags_.no_ceilings;
    if (!flags_.unfinished.empty()) before_ = read_unfinished(file_to_continue(flags_.unfinished));
    std::vector<std::string> names = devices_named(flags_.measure.device);
    if (invocation_.ranks) names = devices_of_ranks(flags_.measure.device, *invocation_.ranks);
    const bool are_several = names.size() > 1 || flags_.measure.device.ends_with(":all");
    const bool are_between_ranks = are_several && has_collective(plan_of(request_));
    std::optional<RecordFiles> files_of_devices;
    if (are_several) {
      check_several_devices(flags_, names, are_between_ranks);
      if (!invocation_.ranks) check_are_alike(names);
    }
    if (are_several && !are_between_ranks) {
      files_of_devices.emplace(RecordFlags{flags_.report, flags_.json});
    } else {
      const std::string json =
          flags_.json.empty() && before_ ? file_to_continue(flags_.unfinished) : flags_.json;
      files_.emplace(json, flags_);
      if (!flags_.save.empty() && !flags_.dry_run) to_save_.emplace(flags_.save, flags_.history);
    }
    std::unique_ptr<Device> device = open_device(names.front(), flags_.measure.seed);
    record_.device = device->describe();
    if (request_.options.counters) device->check_counters(*request_.options.counters);
    if (flags_.placement) place(*flags_.placement);
    record_.device_note = note_on_device(flags_.measure.device, record_.device);
    record_.environment = read_environment(invocation_.command_line);
    fit_to_device(request_.work, record_.device);
    // Results of PyTorch's operators cannot be verified. If they lie elsewhere after each run, no later call
    // of a sequence can read them.
    const bool outputs_stay = record_.device.capabilities.operator_outputs_stay;
    const bool keep_own = flags_.verify || (flags_.in_sequence && !outputs_stay);
    choose_provider(request_.work, parse_provider(flags_.provider), record_.device, keep_own);
    refuse_impossible(request_.work, record_.device);
    request_.in_sequence = flags_.in_sequence;
    request_.processes = are_between_ranks && flags_.save.empty()
                             ? flags_.processes.value_or(kDeviceProcesses)
                             : process_count(flags_);
    if (flags_.in_sequence && request_.work.model.calls.empty()) {
      throw UsageError(
          "--in-sequence needs one model whose order of calls is known (a network by name, a trace), or "
          "operations");
    }
    record_.title = request_.work.title;
    record_.untimed = request_.work.model.untimed;
    record_.recorded_gpu_time = request_.work.model.recorded_gpu_time;
    record_.recorded_use = request_.work.model.recorded_use;
    record_.notes.insert(record_.notes.end(), request_.work.model.notes.begin(),
                         request_.work.model.notes.end());
    if (std::string note = note_on_f32(request_.work, record_.device); !note.empty())
      record_.notes.push_back(std::move(note));
    if (!invocation_.settings.empty()) record_.notes.push_back(invocation_.settings);
    if (flags_.dry_run) {
      if (!record_.device_note.empty()) print_result(record_.device_note + '\n');
      print_result(plan_text(request_, record_.device, page_.width) +
                   ranges_text(flags_.targets, page_.width).lines());
      if (files_of_devices) {
        print_result(wrapped(
            fmt::format("So on each of {} devices, alone and all at once, in {} fresh processes each.",
                        names.size(), flags_.processes.value_or(kDeviceProcesses)),
            page_.width));
      }
      if (are_between_ranks) print_result(wrapped(note_on_ranks(names.size()), page_.width));
      return;
    }
    if (are_between_ranks) {
      device.reset();
      const Plan plan = plan_of(request_);
      measure_on_ranks(plan, names, request_.processes, invocation_, record_);
      record_.asked = asked();
      invocation_.exit_code = exit_code_of(plan, record_);
      print();
    } else if (files_of_devices) {
      device.reset();
      run_on_devices(request_, names,
                     {.environment = record_.environment,
                      .device = record_.device,
                      .title = request_.work.is_model ? request_.work.title : "",
                      .devices = {},
                      .lost = {},
                      .processes = flags_.processes.value_or(kDeviceProcesses),
                      .comparisons = {}},
                     *files_of_devices, flags_.page, invocation_);
    } else if (request_.processes > 1 || may_never_end()) {
      measure_in_processes(std::move(device));
    } else {
      measure(*device);
    }
  }

 private:
  void place(std::int64_t number) {
    if (number > 0 && record_.device.capabilities.is_host) {
      throw UsageError(record_.device.id +
                       ": no placement can be chosen where the operating system gives out the pages; leave "
                       "--placement out, and start the program several times to see what other pages do");
    }
    request_.options.placement = number;
    record_.notes.push_back(fmt::format(
        "Operands stay in placement {} of the device's memory; without --placement each block has a new one.",
        number));
  }

  // If a kernel never ends, its process must be ended, so it needs its own. A continued run has run before.
  bool may_never_end() const {
    return !before_ && !flags_.in_sequence &&
           std::ranges::any_of(request_.work.model.layers, [](const Layer& layer) {
             return std::holds_alternative<CudaKernel>(layer.operation.parameters());
           });
  }

  void measure(Device& device) {
    const std::unique_ptr<ClockLock> lock = flags_.measure.lock(device, request_.options);
    record_.asked = asked();
    if (before_) take_over(std::move(*before_), flags_.unfinished, request_.work, record_);
    if (const auto file = files_->json_file()) journal_.emplace(*file);
    ProgressLine line(stderr, [&] { return device.host_time(); });
    PlanPosition position{1, request_.work.model.layers.size()};
    request_.options.progress = [&](const Progress& progress) {
      PlanPosition own = position;
      own.calls = calls_of(progress.operation);
      line.show(progress, own);
    };
    const StageListener stage = [&](const std::string& what, std::size_t number, std::size_t) {
      position.number = std::max<std::size_t>(1, number);
      Progress progress;
      progress.operation = what;
      line.show(progress, position);
    };
    stage("calibrating the instruments of " + record_.device.name, 0, 0);
    Session session(device);
    record_.calibration = session.calibration();
    const auto saved = [&](const RunRecord& record) {
      if (journal_) journal_->save(record);
    };
    invocation_.exit_code = run_plan(session, plan_of(request_), record_, {.stage = stage, .saved = saved});
    line.clear();
    print();
  }

  // Finds the operation by its text, because several are measured at once.
  std::int64_t calls_of(const std::string& operation) const {
    const std::vector<Layer>& layers = request_.work.model.layers;
    const auto found =
        std::ranges::find_if(layers, [&](const Layer& layer) { return layer.operation.text() == operation; });
    return found == layers.end() ? 1 : found->calls();
  }

  // Closes the device first, to leave its memory to the processes, unless it holds a lock of its clock.
  void measure_in_processes(std::unique_ptr<Device> device) {
    const std::unique_ptr<ClockLock> lock = flags_.measure.lock(*device, request_.options);
    if (!lock) device.reset();
    const Plan plan = plan_of(request_);
    record_.asked = asked();
    cli::measure_in_processes(plan, request_.processes, invocation_, record_);
    invocation_.exit_code = exit_code_of(plan, record_);
    print();
  }

  RunAsked asked() const {
    RunAsked asked{flags_.targets,    flags_.only,          flags_.provider, flags_.verify,
                   request_.ceilings, request_.in_sequence, request_.options};
    asked.options.progress = nullptr;
    asked.options.interrupted = nullptr;
    return asked;
  }

  // Lists what a run did not reach that ended early, so that its part is not taken for the whole.
  void list_unreached() {
    const std::string reason = record_.interrupted ? "it was interrupted before their turn"
                                                   : "it ended before their turn, as others had failed";
    const std::vector<Layer>& layers = request_.work.model.layers;
    for (UntimedOperator& each : record_.untimed) each.is_unreached = false;
    for (std::size_t i = record_.entries.size(); i < layers.size(); ++i) {
      add_untimed(record_.untimed, {.name = std::string(layers[i].operation.kind()),
                                    .count = layers[i].calls(),
                                    .reason = reason,
                                    .recorded_time = layers[i].recorded_time(),
                                    .is_unreached = true});
    }
  }

  void print() {
    list_unreached();
    files_->write(record_, page_);
    if (journal_) journal_->remove();
    if (to_save_) to_save_->save(record_, invocation_.exit_code);
  }

  const RunFlags& flags_;
  Invocation& invocation_;
  RunRequest request_;
  RunRecord record_;
  Page page_;
  std::optional<RunFiles> files_;
  std::optional<RecordToSave> to_save_;
  std::optional<RunJournal> journal_;
  std::optional<RunRecord> before_;  ///< the run that is continued
};

}  // namespace

void add_run_command(CLI::App& app, Invocation& invocation) {
  const auto [command, flags] = declare_command<RunFlags>(
      app, "run", "time operations, sweeps, or all layers of a network", kRunExamples,
      [&](const RunFlags& typed, const CLI::App&) { RunCommand(typed, invocation).run(); });
  command
      .add_option(
          "targets", flags.targets,
          "operations (KIND:name=value,…); networks by name (NAME:batch=N,dtype=T,layout=L,direction=D); "
          "files (PyTorch execution and profiler traces, cuDNN and cuBLAS logs, ONNX, models); or Python "
          "functions (python:FILE:FUNCTION, python:FILE for all its benchmarks). In numbers k, M, G are "
          "powers of 1000, and Ki, Mi, Gi of 1024")
      ->required();
  flags.measure.add_to(command);
  command.add_flag("--verify", flags.verify, "compare each result with a float64 reference");
  command
      .add_option(
          "--provider", flags.provider,
          "library that runs a model's layers: auto (PyTorch for layers that jitterscope only imitates, "
          "if its plug-in is there), torch (for single operations, too) or builtin")
      ->capture_default_str();
  command
      .add_option(
          "--iterations", flags.iterations,
          "first run loops of these numbers of launches, as 1,10,100,1000, and report how the time depends "
          "on the number")
      ->transform(count_of("--iterations"))
      ->delimiter(',');
  command.add_option(
      "--only", flags.only,
      "time only layers whose name or operation matches this regular expression, as conv1, '^layer[12]' or "
      "dtype=f16");
  command.add_flag(
      "--in-sequence", flags.in_sequence,
      "also run the model's calls in order, in short passes with idle between them, and time each call "
      "within the pass");
  command
      .add_option(
          "--execution-trace", flags.execution_trace,
          "with --in-sequence: a PyTorch execution trace of the same step as the profiler trace, which "
          "says which call reads what another wrote")
      ->type_name("FILE");
  command.add_flag("--kernels", flags.kernels, "list the kernels of one launch, and how long each takes");
  command.add_flag(
      "--counters", flags.counters,
      "read hardware counters of one launch in each cache state, after the times: DRAM bytes, L2 hits, "
      "active units and stall reasons, or those of --counters NAME,NAME (jitterscope list counters)");
  CLI::Option* same = command.add_flag("--same-data", flags.same_data,
                                       "let all launches use the same operands (the default)");
  command
      .add_flag("--fresh-data", flags.fresh_data,
                "let each launch use the next of several sets of operands, together three times as large as "
                "the last-level cache, in --iterations, too; refused if memory is too small")
      ->excludes(same);
  command
      .add_option(
          "--placement", flags.placement,
          "keep operands on the same pages of the GPU's memory, numbered from 0 (the driver's choice); "
          "many kernels differ by some percent between pages (default: new pages for each block)")
      ->check(CLI::Range(0, 1000));
  command
      .add_option(
          "--processes", flags.processes,
          "measure in this many fresh processes; each interval is then over processes (default: 1, with "
          "--save 8, on a CPU 16)")
      ->check(CLI::Range(1, 1000));
  command
      .add_option(
          "--local", flags.local,
          "start this many ranks on this host, as mpirun -n N would, each with a GPU of its own: their GPUs "
          "are timed alone and all at once")
      ->check(CLI::Range(2, 1024));
  add_rendezvous_flag(command, invocation);
  command
      .add_option("--save", flags.save,
                  "save the record as the newest of NAME, for `jitterscope gate NAME` to compare with")
      ->type_name("NAME");
  flags.history.add_to(command);
  command.add_flag("--no-ceilings", flags.no_ceilings,
                   "do not measure the device's best rates (the ceilings) first");
  command.add_option("--json", flags.json, "write everything, raw rounds included, to PATH or - (stdout)");
  command
      .add_option(
          "--continue", flags.unfinished,
          "continue the interrupted run that was to write FILE, with the same targets and flags: measure "
          "only what is missing")
      ->type_name("FILE");
  command.add_option(
      "--csv", flags.csv,
      "write a CSV row for each operation and condition, with parameters as columns, to PATH or - (stdout)");
  command.add_option("--csv-launches", flags.csv_launches,
                     "write a CSV row for each launch to PATH or - (stdout)");
  flags.report.add_to(command);
  flags.page.add_to(command);
  command.add_flag("--dry-run", flags.dry_run, "print what would be measured and how long it would take");
}

namespace {

bool is_unfinished(const RunEntry& entry, const MeasureOptions& options) {
  const Result& result = entry.result;
  if (!result.failure.empty()) return false;
  return result.measurements.size() < options.caches.size() * options.loads.size() ||
         std::ranges::any_of(result.measurements, [](const Measurement& measurement) {
           return measurement.stop_reason == StopReason::interrupted;
         });
}

// Several operations are measured at once, and an interruption leaves all of them unfinished. If the device
// was lost before it, all operations since then failed.
void keep_finished(std::vector<RunEntry>& entries, const MeasureOptions& options) {
  const auto unfinished =
      std::ranges::find_if(entries, [&](const RunEntry& entry) { return is_unfinished(entry, options); });
  entries.erase(unfinished, entries.end());
  while (!entries.empty() && !entries.back().result.failure.empty()) entries.pop_back();
}

void check_device(const DeviceDescription& before, const DeviceDescription& now, const std::string& file) {
  if (before.id == now.id && before.name == now.name && before.uuid == now.uuid) return;
  const auto text = [](const DeviceDescription& device) {
    return fmt::format("{} ({}{}{})", device.name, device.id, device.uuid.empty() ? "" : ", ", device.uuid);
  };
  throw UsageError(fmt::format("--continue {}: that run was on {}, but this is {}; name the same device",
                               file, text(before), text(now)));
}

void check_operations(const std::vector<RunEntry>& entries, const WorkList& work, const std::string& file) {
  const std::vector<Layer>& layers = work.model.layers;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const std::string before = to_string(entries[i].result.subject);
    const std::string now = i < layers.size() ? layers[i].operation.text() : "missing";
    if (before == now && entries[i].layers == layers[i].names) continue;
    throw UsageError(fmt::format(
        "--continue {}: operation {} of that run is {}, but here it is {}; name the same targets, or "
        "leave --continue out",
        file, i + 1, before, now));
  }
}

}  // namespace

std::string file_to_continue(const std::string& named) {
  const std::string end = journal_path("");
  return named.ends_with(end) ? named.substr(0, named.size() - end.size()) : named;
}

RunRecord read_unfinished(const std::string& file) {
  const std::string part = journal_path(file);
  const std::string& name = std::filesystem::exists(part) ? part : file;
  const auto [text, problem] = file_text(name);
  if (problem) {
    throw UsageError(fmt::format(
        "--continue: neither '{}' nor '{}' can be read; name the file that the interrupted run was to write "
        "by --json",
        part, file));
  }
  return read_run_record(text, name);
}

void take_over(RunRecord before, const std::string& file, const WorkList& work, RunRecord& record) {
  if (!before.asked) {
    throw UsageError(fmt::format(
        "--continue {}: an earlier version of jitterscope wrote the file, without what is needed to "
        "continue; start a new run",
        file));
  }
  const auto is_of_processes = [](const RunEntry& entry) {
    return std::ranges::any_of(entry.result.measurements,
                               [](const Measurement& each) { return !each.processes.empty(); });
  };
  if (std::ranges::any_of(before.entries, is_of_processes)) {
    throw UsageError(fmt::format(
        "--continue {}: that run used several processes, which cannot be continued; leave --continue out",
        file));
  }
  before.asked->options.load_probe = record.asked->options.load_probe;  // which targets there are decides it
  const std::string differing = differences(*before.asked, *record.asked);
  if (!differing.empty()) {
    throw UsageError(fmt::format(
        "--continue {}: that run had other targets or flags: {}; give the same ones, or leave --continue out",
        file, differing));
  }
  check_device(before.device, record.device, file);
  keep_finished(before.entries, record.asked->options);
  check_operations(before.entries, work, file);
  for (const std::string& note : before.notes) add_once(record.notes, note);
  record.ceilings = before.ceilings;
  record.entries = std::move(before.entries);
  if (!before.interrupted) record.sequence = std::move(before.sequence);
  if (record.entries.empty()) return;
  record.notes.push_back(fmt::format("The first {} of {} operations are from an earlier run, of {}.",
                                     record.entries.size(), work.model.layers.size(),
                                     before.environment.time));
}

}  // namespace jitterscope::cli
