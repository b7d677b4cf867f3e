#include "cli/python.hpp"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/host.hpp"
#include "base/names.hpp"
#include "base/subprocess.hpp"
#include "cli/command_line.hpp"
#include "cli/invocation.hpp"
#include "cli/run_flags.hpp"
#include "cli/run_request.hpp"
#include "commands/run/table.hpp"
#include "experiment/processes.hpp"
#include "jitterscope/error.hpp"
#include "measure/machine.hpp"
#include "measure/rates_and_totals.hpp"
#include "operation/words.hpp"
#include "output/progress.hpp"
#include "worker/worker_plan.hpp"

namespace jitterscope::cli {
namespace {

bool is_python(const std::string& target) { return target.starts_with(kPythonPrefix); }

// Refuses flags for models and operations, whose operands jitterscope fills, places and checks.
void refuse_other_flags(const RunFlags& flags) {
  const std::vector<std::pair<bool, std::string_view>> others = {
      {flags.verify, "--verify"},
      {!flags.only.empty(), "--only"},
      {flags.provider != "auto", "--provider"},
      {!flags.iterations.empty(), "--iterations"},
      {flags.in_sequence, "--in-sequence"},
      {flags.fresh_data, "--fresh-data"},
      {flags.placement.has_value(), "--placement"},
      {!flags.unfinished.empty(), "--continue"},
      {flags.dry_run, "--dry-run"},
      {flags.measure.data != "normal", "--data"},
      {!flags.measure.lock_clocks.empty(), "--lock-clocks"}};
  for (const auto& [is_given, flag] : others) {
    if (!is_given) continue;
    throw UsageError(
        fmt::format("{} is for operations and models; a function of Python brings its own data", flag));
  }
}

MeasureOptions python_options(const RunFlags& flags) {
  MeasureOptions options = flags.measure.python_options(process_count(flags));
  if (flags.measure.loads.empty()) options.loads = {Load::burst};
  options.kernels = flags.kernels;
  options.counters = asked_counters(flags.counters);
  return options;
}

}  // namespace

bool are_python(const std::vector<std::string>& targets) {
  const auto count = std::ranges::count_if(targets, is_python);
  if (count == 0) return false;
  if (std::ranges::find(targets, kPythonPrefix) != targets.end()) {
    throw UsageError(
        "'python:' names no file: write python:bench.py for its benchmarks, or python:bench.py:attention "
        "for one function");
  }
  if (count == std::ssize(targets)) return true;
  const auto other = std::ranges::find_if_not(targets, is_python);
  throw UsageError(fmt::format(
      "{}: is not a Python function and cannot be timed beside one; name python:FILE:FUNCTION alone",
      in_quotes(*other)));
}

std::vector<std::string> python_labels(const std::vector<std::string>& targets) {
  std::vector<std::string> labels;
  for (const std::string& target : targets) {
    const std::filesystem::path path = target.substr(kPythonPrefix.size());
    labels.push_back((path.extension() == ".pickle" ? path.stem() : path.filename()).string());
  }
  // Two files in different folders have the same name.
  const std::vector<std::string> names = labels;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    if (std::ranges::count(names, names[i]) > 1) labels[i] = targets[i].substr(kPythonPrefix.size());
  }
  return labels;
}

void require_python(const SubprocessOutcome& outcome) {
  constexpr int kCannotBeRun = 126, kNotFound = 127;  // exit codes of env
  if (outcome.exit_code == kCannotBeRun || outcome.exit_code == kNotFound) {
    throw MissingError(fmt::format(
        "there is no Python {}: install it, or set JITTERSCOPE_PYTHON to one that is there", interpreter()));
  }
  // Python writes the name without quotes where it was run by -m, and with them where it was imported.
  if (outcome.errors.find("No module named jitterscope") != std::string::npos ||
      outcome.errors.find("No module named 'jitterscope'") != std::string::npos) {
    throw MissingError(fmt::format(
        "{} has no module jitterscope; pip install its wheel there, or set JITTERSCOPE_PYTHON to a "
        "Python that has it",
        interpreter()));
  }
}

ProcessRecords run_python(const std::vector<std::vector<std::string>>& groups, const std::string& device,
                          const MeasureOptions& options, std::int64_t processes) {
  CallablePlan plan{.device = device, .groups = {}};
  for (const std::vector<std::string>& group : groups) {
    plan.groups.emplace_back();
    for (const std::string& target : group) {
      plan.groups.back().push_back({target.substr(kPythonPrefix.size()), options});
    }
  }
  ProgressLine line(stderr, host_time_now);
  const auto show = [&](const std::string& stage, std::size_t process) {
    line.show(stage, {process, static_cast<std::size_t>(processes)});
  };
  ProcessRecords found = run_in_fresh_processes(plan, {.executable = interpreter(),
                                                       .count = processes,
                                                       .interrupted = is_interrupted,
                                                       .progress = show,
                                                       .ended_badly = require_python});
  line.clear();
  return found;
}

ComparisonItems python_items(const std::vector<RunRecord>& records, std::size_t alternatives) {
  std::size_t entries = 0;
  for (const RunRecord& record : records) entries = std::max(entries, record.entries.size());
  ComparisonItems items;
  items.alternatives = alternatives;
  items.items.resize(entries / alternatives);
  return items;
}

RunRecord python_record(const std::vector<std::string>& targets, const std::string& device,
                        const MeasureOptions& options, std::int64_t processes, const Invocation& invocation) {
  std::vector<std::vector<std::string>> groups;
  for (const std::string& target : targets) groups.push_back({target});
  ProcessRecords found = run_python(groups, device, options, processes);
  if (found.records.empty()) throw InterruptedError();
  const std::size_t count = found.records.size();
  RunRecord record = combine_processes(std::move(found.records));
  record.environment = read_environment(invocation.command_line);
  record.title =
      record.entries.size() == 1 ? to_string(record.entries.front().result.subject) : joined(targets, " ");
  if (!invocation.settings.empty()) record.notes.push_back(invocation.settings);
  note_processes(count, found.lost, record);
  record.interrupted = record.interrupted || found.interrupted;
  record.asked = RunAsked{.targets = targets, .only = {}, .provider = {}, .options = options};
  record.asked->options.interrupted = nullptr;
  return record;
}

void run_python_command(const RunFlags& flags, Invocation& invocation) {
  refuse_other_flags(flags);
  const MeasureOptions options = python_options(flags);
  RunFiles files(flags.json, flags);
  std::optional<RecordToSave> to_save;
  if (!flags.save.empty()) to_save.emplace(flags.save, flags.history);
  const RunRecord record =
      python_record(flags.targets, flags.measure.device, options, process_count(flags), invocation);
  Plan asked;
  asked.precision_was_asked = flags.measure.asks_for_precision();
  invocation.exit_code = exit_code_of(asked, record);
  files.write(record, flags.page.page(is_network(record)));
  if (to_save) to_save->save(record, invocation.exit_code);
}

std::string ask_python(const std::string& name, const std::string& question, const Invocation& invocation) {
  ProgressLine line(stderr, host_time_now);
  SubprocessLimits limits{
      .interrupted = is_interrupted, .answers_interruption = true, .grace = seconds(10), .input = question};
  limits.error_line = [&](std::string_view text) { line.show(std::string(text), {1, 1}); };
  SubprocessOutcome outcome = run_subprocess({"/usr/bin/env", "JITTERSCOPE_PROGRAM=" + invocation.executable,
                                              interpreter(), "-m", "jitterscope", name},
                                             limits);
  line.clear();
  rethrow_written_error(outcome.output);
  if (outcome.exit_code == 0) return std::move(outcome.output);
  require_python(outcome);
  if (is_interrupted()) throw InterruptedError();
  throw FailedError(fmt::format("the Python process ended with {}: {}",
                                outcome.signal != 0 ? fmt::format("signal {}", outcome.signal)
                                                    : fmt::format("exit code {}", outcome.exit_code),
                                last_line(outcome.errors)));
}

}  // namespace jitterscope::cli
