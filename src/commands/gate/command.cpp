#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>
#include <CLI/CLI.hpp>

#include "base/names.hpp"
#include "base/quantity_text.hpp"
#include "cli/invocation.hpp"
#include "cli/measure_flags.hpp"
#include "cli/output_flags.hpp"
#include "cli/provider_choice.hpp"
#include "cli/python.hpp"
#include "cli/ranks.hpp"
#include "cli/run_request.hpp"
#include "commands/gate/table.hpp"
#include "commands/records.hpp"
#include "device/open_device.hpp"
#include "experiment/gate.hpp"
#include "group/group.hpp"
#include "jitterscope/error.hpp"
#include "measure/machine.hpp"
#include "measure/run_record.hpp"
#include "operation/kinds_collective.hpp"
#include "output/comparison_table.hpp"
#include "output/output_file.hpp"
#include "output/text.hpp"

// Carries out `gate`: measures baselines again, and writes the verdicts for other programs.

namespace jitterscope::cli {

namespace {

struct GateFileFlags {
  std::string json, junit, markdown;
  ReportFlags report;

  void add_to(CLI::App& command);
};

class GateFiles {
 public:
  /// Made before measuring. Throws UsageError if a file cannot be written. If $GITHUB_STEP_SUMMARY is set,
  /// the pull request's page is written there, too.
  GateFiles(const GateFileFlags& flags, std::size_t baselines);
  ~GateFiles();
  GateFiles(const GateFiles&) = delete;
  GateFiles& operator=(const GateFiles&) = delete;

  bool takes_standard_output() const { return takes_standard_output_; }
  void write(std::span<const GateOutcome> outcomes, bool is_strict);

 private:
  bool takes_standard_output_ = false;
  std::optional<OutputFile> json_, junit_, markdown_;
  ReportFiles report_;
  std::string summary_;  ///< $GITHUB_STEP_SUMMARY
  int summary_descriptor_ = -1;
};

void GateFileFlags::add_to(CLI::App& command) {
  command.add_option("--json", json, "write the comparison to PATH or - (stdout); for one baseline only");
  command.add_option("--junit", junit, "write JUnit XML to PATH or - (stdout)");
  command.add_option(
      "--markdown", markdown,
      "write Markdown for a pull request to PATH or - (stdout), and to $GITHUB_STEP_SUMMARY if it is set");
  report.add_to(command);
}

GateFiles::GateFiles(const GateFileFlags& flags, std::size_t baselines) : report_(flags.report) {
  if (!flags.json.empty() && baselines > 1) {
    throw UsageError(
        fmt::format("--json writes one comparison, but there are {} baselines: name one", baselines));
  }
  takes_standard_output_ =
      cli::takes_standard_output("--json, --junit and --markdown", {flags.json, flags.junit, flags.markdown});
  if (!flags.json.empty()) json_.emplace(flags.json);
  if (!flags.junit.empty()) junit_.emplace(flags.junit);
  if (!flags.markdown.empty()) markdown_.emplace(flags.markdown);
  const char* summary = std::getenv("GITHUB_STEP_SUMMARY");
  if (summary == nullptr || *summary == '\0') return;
  summary_ = summary;
  summary_descriptor_ = ::open(summary, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
  if (summary_descriptor_ < 0) {
    throw UsageError(
        fmt::format("cannot write '{}', which $GITHUB_STEP_SUMMARY names: {}; unset it, or name a "
                    "file that can be written",
                    summary_, std::strerror(errno)));
  }
}

GateFiles::~GateFiles() {
  if (summary_descriptor_ >= 0) ::close(summary_descriptor_);
}

void GateFiles::write(std::span<const GateOutcome> outcomes, bool is_strict) {
  if (json_) json_->commit(write_record(outcomes.front().record));
  if (junit_) junit_->commit(junit_xml(outcomes, is_strict));
  if (markdown_) markdown_->commit(gate_markdown(outcomes));
  std::vector<AnyRecord> records;
  for (const GateOutcome& outcome : outcomes) {
    if (outcome.failure.empty()) records.emplace_back(outcome.record);
  }
  if (!records.empty()) report_.write(records);
  if (summary_descriptor_ >= 0) {
    // Starts with a line break: other steps may not have ended their last line.
    write_whole(summary_descriptor_, "\n" + gate_markdown(outcomes), summary_);
  }
}

struct GateConditions {
  std::string device;  ///< empty: the baseline's device
  std::int64_t processes = 8;
  std::optional<std::uint64_t> seed = {};  ///< empty: another seed than the baseline's
};

// Removes what is asked beside times, because a gate judges only times.
RunAsked asked_again(const RunRecord& baseline, const GateConditions& conditions) {
  RunAsked asked = *baseline.asked;
  asked.verify = false;
  asked.ceilings = false;
  asked.options.kernels = false;
  asked.options.counters.reset();
  asked.options.iterations.clear();
  // With the same seed a simulated device would repeat the same processes and show no difference.
  asked.options.seed = conditions.seed.value_or(asked.options.seed + 1);
  return asked;
}

// The ranks that the baseline's collectives were measured between; 1 if it has none.
std::int64_t ranks_of(const RunRecord& baseline) {
  std::int64_t ranks = 1;
  for (const RunEntry& entry : baseline.entries) {
    if (const Operation* operation = operation_of(entry.result.subject))
      ranks = std::max(ranks, ranks_named(*operation));
  }
  return ranks;
}

// The record has rank 0's device: on CUDA each rank has one of its own.
std::string device_of(const RunRecord& baseline, const GateConditions& conditions) {
  if (!conditions.device.empty()) return conditions.device;
  const std::string& id = baseline.device.id;
  return ranks_of(baseline) == 1 || names_virtual_device(id) ? id : "cuda";
}

// The devices to measure on: several if the baseline was measured between ranks.
std::vector<std::string> devices_of(const RunRecord& baseline, const GateConditions& conditions,
                                    const Invocation& invocation) {
  const std::string device = device_of(baseline, conditions);
  return ranks_of(baseline) == 1 ? std::vector{device} : devices_of_ranks(device, *invocation.ranks);
}

RunRequest request_of(const RunAsked& asked, const DeviceDescription& device, std::int64_t processes) {
  RunRequest request;
  request.processes = processes;
  request.work = read_targets(asked.targets, asked.only);
  request.options = asked.options;
  request.options.interrupted = is_interrupted;
  request.ceilings = false;
  fit_to_device(request.work, device);
  choose_provider(request.work, parse_provider(asked.provider), device, false);
  refuse_impossible(request.work, device);
  return request;
}

RunRecord measure_operations(RunAsked asked, const std::vector<std::string>& devices,
                             const GateConditions& conditions, const Invocation& invocation) {
  std::unique_ptr<Device> device = open_device(devices.front(), asked.options.seed);
  RunRecord record;
  record.device = device->describe();
  record.environment = read_environment(invocation.command_line);
  RunRequest request = request_of(asked, record.device, conditions.processes);
  record.title = request.work.title;
  record.untimed = request.work.model.untimed;
  record.recorded_gpu_time = request.work.model.recorded_gpu_time;
  record.notes = request.work.model.notes;
  if (!invocation.settings.empty()) record.notes.push_back(invocation.settings);
  std::unique_ptr<ClockLock> lock;
  if (asked.options.locked_clock) {
    lock = device->lock_clocks(fmt::format("{:.0f}", asked.options.locked_clock->value() / 1e6));
    request.options.locked_clock = asked.options.locked_clock = lock->frequency();
  } else {
    device.reset();  // leaves its memory to the workers
  }
  record.asked = std::move(asked);
  if (devices.size() > 1) {
    measure_on_ranks(plan_of(request), devices, conditions.processes, invocation, record);
  } else {
    measure_in_processes(plan_of(request), conditions.processes, invocation, record);
  }
  return record;
}

// Throws UsageError if the record does not say what to measure, if that cannot be read any more, or if it was
// measured between another number of ranks than the job has.
void check_is_baseline(const RunRecord& baseline, const std::string& name_for_messages,
                       std::size_t ranks_here) {
  if (!baseline.asked || baseline.asked->targets.empty()) {
    throw UsageError(fmt::format(
        "{} was written by an earlier version of jitterscope and does not say what to measure; save a new "
        "baseline by `jitterscope run … --save`",
        name_for_messages));
  }
  if (are_python(baseline.asked->targets)) return;
  const std::int64_t ranks = ranks_of(baseline);
  if (ranks > 1 && ranks != static_cast<std::int64_t>(ranks_here)) {
    throw UsageError(fmt::format(
        "{} was measured between {} ranks, and here {}; start as many: mpirun -n {} jitterscope gate, or "
        "--local {} on this host",
        name_for_messages, ranks, ranks_here == 1 ? "is one" : fmt::format("are {}", ranks_here), ranks,
        ranks));
  }
  try {
    parse_provider(baseline.asked->provider);
    read_targets(baseline.asked->targets, baseline.asked->only);
  } catch (const UsageError& error) {
    throw UsageError(fmt::format("{} cannot be measured again: {}", name_for_messages, error.what()));
  }
}

// Measures the same subjects under the same conditions in fresh processes. Throws like `run`. The record has
// no entries if interrupted.
RunRecord measure_again(const RunRecord& baseline, const GateConditions& conditions,
                        const Invocation& invocation) {
  RunAsked asked = asked_again(baseline, conditions);
  const std::vector<std::string> devices = devices_of(baseline, conditions, invocation);
  if (!are_python(asked.targets)) {
    return measure_operations(std::move(asked), devices, conditions, invocation);
  }
  asked.options.interrupted = is_interrupted;
  return python_record(asked.targets, devices.front(), asked.options, conditions.processes, invocation);
}

// Says what would be measured, and how long it would take.
std::string gate_plan_text(const RunRecord& baseline, const GateConditions& conditions,
                           const Invocation& invocation, std::size_t width) {
  const RunAsked asked = asked_again(baseline, conditions);
  const std::vector<std::string> devices = devices_of(baseline, conditions, invocation);
  if (are_python(asked.targets)) {
    return wrapped(fmt::format("{} fresh {} of Python on {}: {}.", conditions.processes,
                               conditions.processes == 1 ? "process" : "processes", devices.front(),
                               joined(asked.targets)),
                   width);
  }
  const DeviceDescription device = open_device(devices.front(), asked.options.seed)->describe();
  std::string text = plan_text(request_of(asked, device, conditions.processes), device, width);
  if (devices.size() > 1) text += '\n' + wrapped(note_on_ranks(devices.size()), width);
  return text;
}

struct GateFlags {
  std::vector<std::string> names;
  HistoryFlags history;
  GateFileFlags files;
  GateConditions conditions;
  std::optional<std::int64_t> processes, local;
  std::string margin = "2%";
  bool strict = false, save = false, dry_run = false, details = false;
};

constexpr const char* kGateExamples = R"(Examples:
  jitterscope run add:count=1Mi --device virtual:h200 --save main
  jitterscope gate main
  jitterscope gate
  jitterscope gate main --margin 5% --processes 16 --strict
  jitterscope gate main --junit gate.xml --html gate.html
  jitterscope gate main --save
  jitterscope run all_reduce:count=256Ki --device virtual:cluster-2xh200 --local 2 --save reduce

The gate repeats the measurement of the newest record of each NAME, on the same device.

Exit codes: 0 nothing is shown to be slower, 1 something is slower (or, with --strict, undecided), 2 usage,
3 device or library missing, 5 part of the baseline could not be timed again, 130 interrupted.)";

struct Baseline {
  HistoryEntry entry;
  RunRecord record;
};

class GateCommand {
 public:
  GateCommand(const GateFlags& flags, Invocation& invocation)
      : flags_(flags), invocation_(invocation), history_(flags.history.history()) {}

  void run() {
    if (flags_.processes) check_count("--processes", *flags_.processes, 1, 1000);
    margin_ = read_margin(flags_.margin);
    if (flags_.local) start_local_ranks(*flags_.local, invocation_);
    read_baselines();
    if (flags_.dry_run) {
      print_plan();
      return;
    }
    GateFiles files(flags_.files, baselines_.size() + unreadable_.size());
    if (flags_.save) {
      for (const Baseline& baseline : baselines_) history_.check_can_add(baseline.entry.name);
    }
    for (const Baseline& baseline : baselines_) {
      if (is_interrupted()) break;
      judge(baseline);
    }
    if (outcomes_.empty() && !baselines_.empty()) throw InterruptedError();
    const bool is_interrupted_between = outcomes_.size() < baselines_.size();
    outcomes_.insert(outcomes_.end(), unreadable_.begin(), unreadable_.end());
    if (!files.takes_standard_output()) print_result(text());
    files.write(outcomes_, flags_.strict);
    invocation_.exit_code = exit_code(is_interrupted_between);
  }

 private:
  Text text() const {
    std::vector<Text> parts = {gate_text(outcomes_, page_width())};
    for (const GateOutcome& outcome : outcomes_) {
      if (flags_.details && outcome.failure.empty())
        parts.push_back(comparison_table(outcome.record, {.width = page_width(), .details = true}));
    }
    return sections(parts);
  }

  // Reads all baselines before anything is measured.
  void read_baselines() {
    const std::vector<std::string> names = flags_.names.empty() ? history_.names() : flags_.names;
    if (names.empty()) {
      throw UsageError(
          fmt::format("the history '{}' has no baseline; `jitterscope run … --save main` makes one",
                      history_.folder().string()));
    }
    for (const std::string& name : names) {
      const HistoryEntry entry = history_.find(name);
      try {
        RunRecord record = read_entry(entry);
        check_is_baseline(record, entry.text(), invocation_.ranks ? invocation_.ranks->size() : 1);
        baselines_.push_back({entry, std::move(record)});
      } catch (const UsageError& error) {
        // A named baseline must be readable; without names, the gate judges the others.
        if (!flags_.names.empty()) throw;
        GateOutcome& outcome = unreadable_.emplace_back();
        outcome.record.baseline = ComparedBaseline{entry.name, entry.text(), {}};
        outcome.failure = error.what();
      }
    }
  }

  void print_plan() const {
    std::string text;
    for (const Baseline& baseline : baselines_) {
      text += fmt::format("{}{}\n", text.empty() ? "" : "\n", baseline.entry.text());
      text += gate_plan_text(baseline.record, conditions_for(baseline.record), invocation_, page_width());
    }
    print_result(text);
  }

  GateConditions conditions_for(const RunRecord& baseline) const {
    GateConditions conditions = flags_.conditions;
    conditions.processes = flags_.processes.value_or(gate_processes(baseline.device.capabilities.is_host));
    return conditions;
  }

  void judge(const Baseline& baseline) {
    const GateConditions conditions = conditions_for(baseline.record);
    GateOutcome outcome;
    ComparisonRecord& record = outcome.record;
    record.baseline =
        ComparedBaseline{baseline.entry.name, baseline.entry.text(), baseline.record.environment.time};
    record.margin = margin_;
    record.title = baseline.record.title;
    record.alternatives = {baseline.entry.text(), "now"};
    record.processes_asked = conditions.processes;
    try {
      if (invocation_.ranks && ranks_of(baseline.record) == 1) {
        fmt::print(stderr, "jitterscope: {} has no collective: rank 0 alone measures\n",
                   baseline.entry.text());
      }
      const RunRecord now = measure_again(baseline.record, conditions, invocation_);
      record.environment = now.environment;
      record.device = now.device;
      record.interrupted = now.interrupted;
      if (!now.entries.empty()) compare_as_gate(baseline.record, now, record);
      save(baseline, now, gate_verdict(record));
    } catch (const FailedError& error) {
      outcome.failure = error.what();
    } catch (const MissingError& error) {
      // Others may need other devices and libraries: what they gave is shown.
      if (baselines_.size() == 1) throw;
      outcome.failure = error.what();
      lacks_something_ = true;
    }
    outcomes_.push_back(std::move(outcome));
  }

  void save(const Baseline& baseline, const RunRecord& now, GateVerdict verdict) const {
    if (!flags_.save) return;
    const std::string& name = baseline.entry.name;
    const bool is_baseline =
        verdict == GateVerdict::same || verdict == GateVerdict::faster || verdict == GateVerdict::undecided;
    if (is_baseline) {
      fmt::print(stderr, "jitterscope: saved as {}\n", history_.add(name, now).text());
    } else {
      fmt::print(stderr, "jitterscope: not saved as {}, which stays the baseline: {}\n", name,
                 to_string(verdict));
    }
  }

  ExitCode exit_code(bool is_interrupted_between) const {
    const auto any = [&](GateVerdict verdict) {
      return std::ranges::any_of(
          outcomes_, [&](const GateOutcome& outcome) { return gate_verdict(outcome) == verdict; });
    };
    if (any(GateVerdict::slower)) return ExitCode::check_failed;
    if (any(GateVerdict::interrupted) || is_interrupted_between) return ExitCode::interrupted;
    if (any(GateVerdict::failed)) return lacks_something_ ? ExitCode::missing : ExitCode::failed;
    return flags_.strict && any(GateVerdict::undecided) ? ExitCode::check_failed : ExitCode::done;
  }

  const GateFlags& flags_;
  Invocation& invocation_;
  History history_;
  double margin_ = 0.0;
  bool lacks_something_ = false;  ///< a baseline's device or library is not here
  std::vector<Baseline> baselines_;
  std::vector<GateOutcome> unreadable_;  // baselines that are damaged, or no baselines
  std::vector<GateOutcome> outcomes_;
};

}  // namespace

void add_gate_command(CLI::App& app, Invocation& invocation) {
  const auto [command, flags] = declare_command<GateFlags>(
      app, "gate",
      "measure saved baselines again and fail if something became slower: for continuous integration",
      kGateExamples, [&](const GateFlags& typed, const CLI::App&) { GateCommand(typed, invocation).run(); });
  command.add_option(
      "names", flags.names,
      "baselines made by `run --save NAME`: NAME for its newest record, NAME/ID for a certain one "
      "(default: all of the history)");
  command.add_option("--margin", flags.margin, "largest difference that counts as the same")
      ->capture_default_str();
  command.add_option(
      "--processes", flags.processes,
      "number of fresh processes to measure in; each interval is over processes (default: 8, on a CPU 16)");
  command
      .add_option("--local", flags.local,
                  "measure collectives between this many ranks on this host, as under mpirun -n N")
      ->check(CLI::Range(2, 1024));
  add_rendezvous_flag(command, invocation);
  command.add_flag("--strict", flags.strict, "exit code 1 also if something is undecided");
  command.add_flag("--save", flags.save,
                   "save what was measured as the newest record of its NAME, unless it is slower or failed");
  command.add_option("--device", flags.conditions.device,
                     "cpu, cuda:0, virtual:h200… (default: the baseline's)");
  command.add_option(
      "--seed", flags.conditions.seed,
      "seed of the random idles and orders, and of a simulated device (default: not the baseline's)");
  command.add_flag("--details", flags.details,
                   "show everything known about each comparison, and an explanation of the words");
  flags.history.add_to(command);
  flags.files.add_to(command);
  command.add_flag("--dry-run", flags.dry_run, "print what would be measured and how long it would take");
}

}  // namespace jitterscope::cli
