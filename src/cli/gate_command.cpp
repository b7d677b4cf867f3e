#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>

#include "cli/commands.hpp"
#include "cli/gate_files.hpp"
#include "cli/gate_measurement.hpp"
#include "cli/history_flags.hpp"
#include "cli/interruption.hpp"
#include "cli/margin.hpp"
#include "output/gate_text.hpp"
#include "output/page.hpp"
#include "output/standard_output.hpp"

namespace jitterscope::cli {
namespace {

struct GateFlags {
  std::vector<std::string> names;
  HistoryFlags history;
  GateFileFlags files;
  GateConditions conditions = {.device = {}, .processes = kGateProcesses, .seed = {}};
  std::string margin = "2%";
  bool strict = false, save = false, dry_run = false;
};

constexpr const char* kGateExamples = R"(Examples:
  jitterscope run add:count=1Mi --device virtual:h200 --save main
  jitterscope gate main
  jitterscope gate
  jitterscope gate main --margin 5% --processes 16 --strict
  jitterscope gate main --junit gate.xml --html gate.html
  jitterscope gate main --save

What is measured is what the newest record of each NAME was asked for, on the same device.

Exit codes: 0 nothing is shown to be slower, 1 slower is shown (or, with --strict, something is undecided), 2 usage,
3 device or library missing, 5 something of the baseline has no time any more, 130 interrupted.)";

struct Baseline {
  HistoryEntry entry;
  RunRecord record;
};

class GateCommand {
 public:
  GateCommand(const GateFlags& flags, Invocation& invocation)
      : flags_(flags), invocation_(invocation), history_(flags.history.history()) {}

  void run() {
    constexpr std::int64_t kMost = 1000;
    if (flags_.conditions.processes < 1 || flags_.conditions.processes > kMost) {
      throw UsageError(fmt::format("--processes: 1 to {}", kMost));
    }
    margin_ = read_margin(flags_.margin);
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
    if (!files.takes_standard_output()) print_result(gate_text(outcomes_, page_width()));
    files.write(outcomes_, flags_.strict);
    invocation_.exit_code = exit_code(is_interrupted_between);
  }

 private:
  // All are read before anything is measured.
  void read_baselines() {
    const std::vector<std::string> names = flags_.names.empty() ? history_.names() : flags_.names;
    if (names.empty()) {
      throw UsageError(fmt::format(
          "the history '{}' has no baseline to compare with; `jitterscope run … --save main` makes one",
          history_.folder().string()));
    }
    for (const std::string& name : names) {
      const HistoryEntry entry = history_.find(name);
      try {
        RunRecord record = read_entry(entry);
        check_is_baseline(record, entry.text());
        baselines_.push_back({entry, std::move(record)});
      } catch (const UsageError& error) {
        // Of all of a history the others are judged; what was named is expected to be there.
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
      text += gate_plan_text(baseline.record, flags_.conditions, page_width());
    }
    print_result(text);
  }

  void judge(const Baseline& baseline) {
    GateOutcome outcome;
    ComparisonRecord& record = outcome.record;
    record.baseline =
        ComparedBaseline{baseline.entry.name, baseline.entry.text(), baseline.record.environment.time};
    record.margin = margin_;
    record.title = baseline.record.title;
    record.alternatives = {baseline.entry.text(), "now"};
    record.processes_asked = flags_.conditions.processes;
    try {
      const RunRecord now = measure_again(baseline.record, flags_.conditions, invocation_);
      record.environment = now.environment;
      record.device = now.device;
      record.interrupted = now.interrupted;
      if (!now.entries.empty()) compare_as_gate(baseline.record, now, record);
      save(baseline, now, gate_verdict(record));
    } catch (const FailedError& error) {
      outcome.failure = error.what();
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
    if (any(GateVerdict::failed)) return ExitCode::failed;
    return flags_.strict && any(GateVerdict::undecided) ? ExitCode::check_failed : ExitCode::done;
  }

  const GateFlags& flags_;
  Invocation& invocation_;
  History history_;
  double margin_ = 0.0;
  std::vector<Baseline> baselines_;
  std::vector<GateOutcome> unreadable_;  // baselines that are damaged, or none
  std::vector<GateOutcome> outcomes_;
};

}  // namespace

void add_gate_command(CLI::App& app, Invocation& invocation) {
  auto flags = std::make_shared<GateFlags>();
  CLI::App* command = app.add_subcommand(
      "gate",
      "measure again what was saved, and fail where it has become slower: for continuous integration");
  command->add_option(
      "names", flags->names,
      "baselines that `run --save NAME` made: NAME is its newest record, NAME/ID that one (default: "
      "all of the history)");
  command->add_option("--margin", flags->margin, "how far apart counts as the same")->capture_default_str();
  command
      ->add_option("--processes", flags->conditions.processes,
                   "fresh processes to measure in; the unit of each interval")
      ->capture_default_str();
  command->add_flag("--strict", flags->strict, "exit code 1 where something is undecided, too");
  command->add_flag("--save", flags->save,
                    "keep what was measured as the newest of its NAME, unless it is slower or failed");
  command->add_option("--device", flags->conditions.device,
                      "cpu, cuda:0, virtual:h200… (default: the baseline's)");
  command->add_option("--seed", flags->conditions.seed,
                      "of the random idles and orders, and of a simulated device (default: another than the "
                      "baseline's)");
  flags->history.add_to(*command);
  flags->files.add_to(*command);
  command->add_flag("--dry-run", flags->dry_run, "print what would be measured and how long it takes");
  command->footer(kGateExamples);
  command->callback([flags, &invocation] { GateCommand(*flags, invocation).run(); });
}

}  // namespace jitterscope::cli
