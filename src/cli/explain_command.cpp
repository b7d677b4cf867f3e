#include <fmt/format.h>

#include <charconv>
#include <cstdio>
#include <memory>
#include <optional>

#include "base/names.hpp"
#include "base/quantity_text.hpp"
#include "cli/commands.hpp"
#include "cli/interruption.hpp"
#include "cli/page_flags.hpp"
#include "cli/record_files.hpp"
#include "cli/report_files.hpp"
#include "cli/work_list.hpp"
#include "explain/account.hpp"
#include "explain/conclusions.hpp"
#include "explain/explain.hpp"
#include "explain/factor.hpp"
#include "measure/environment.hpp"
#include "output/explanation_table.hpp"
#include "output/output_file.hpp"
#include "output/progress.hpp"
#include "output/standard_output.hpp"
#include "record/record.hpp"
#include "worker/fresh_processes.hpp"

namespace jitterscope::cli {
namespace {

struct ExplainFlags {
  ReportFlags report;
  std::vector<std::string> targets;
  std::string only, device = "auto", json;
  std::vector<std::string> factors;
  PageFlags page;
  double time_limit = 180.0;  // seconds
  std::uint64_t seed = 1;
  bool quick = false, dry_run = false;
};

constexpr double kQuick = 30.0;  // seconds

constexpr const char* kExplainExamples = R"(Examples:
  jitterscope explain conv2d:n=32,c=64,hw=56,k=64,rs=3,pad=1,dtype=f16,layout=nhwc
  jitterscope explain matmul:m=512,n=512,k=512,dtype=f16 --quick
  jitterscope explain add:count=1Mi --factors cache,traffic,queue --max-time 20
  jitterscope explain resnet50 --only '^layer4.0.downsample.0.fprop$'
  jitterscope explain monday.json tuesday.json
  jitterscope explain relu:count=8Mi --device virtual:h200 --quick --json why.json

Exit codes: 0 done, 2 usage, 3 device or library missing, 5 the operation failed, 130 interrupted, with what was
known by then.)";

// The first few, as --only finds each alone.
std::string names_in(const Model& model) {
  constexpr std::size_t kShown = 6;
  std::vector<std::string> names;
  for (const Layer& layer : model.layers) {
    if (names.size() == kShown) return joined(names) + "…";
    names.push_back("'^" + (layer.names.empty() ? layer.operation.text() : layer.names.front()) + "$'");
  }
  return joined(names);
}

class ExplainCommand {
 public:
  ExplainCommand(const ExplainFlags& flags, Invocation& invocation)
      : flags_(flags), invocation_(invocation) {}

  void run() {
    constexpr double kLeast = 1.0, kMost = 3600.0;
    if (!(flags_.time_limit >= kLeast) || flags_.time_limit > kMost) {
      throw UsageError(fmt::format("--max-time: {:g} to {:g} seconds", kLeast, kMost));
    }
    if (!flags_.json.empty()) json_.emplace(flags_.json);
    report_.emplace(flags_.report);
    record_.environment = read_environment(invocation_.command_line);
    if (are_records(flags_.targets)) {
      account();
    } else if (!study()) {
      return;
    }
    if (flags_.json != "-")
      print_result(explanation_table(record_, flags_.page.page(record_.accounts.size() > 1)));
    if (json_) json_->commit(write_record(record_));
    report_->write(record_);
    if (record_.interrupted) invocation_.exit_code = ExitCode::interrupted;
  }

 private:
  void account() {
    if (flags_.targets.size() != 2) throw UsageError("records are explained in pairs: name two files");
    const RunRecord first = read_run_file(flags_.targets[0]), second = read_run_file(flags_.targets[1]);
    record_.device = second.device;
    record_.accounts = explain::account_for(first, second);
    record_.conclusions = explain::conclusions_of(record_.accounts);
  }

  // False where it was to be said only what would be done.
  bool study() {
    if (flags_.targets.size() != 1) {
      throw UsageError(
          "one operation is explained at a time, or two records; which of several is faster says `jitterscope "
          "compare`");
    }
    const std::unique_ptr<Device> device = open_device(flags_.device, flags_.seed);
    record_.device = device->describe();
    const Operation operation = subject();
    if (flags_.dry_run) {
      const auto factors =
          explain::chosen_factors(explain::factor_context(*device, operation), flags_.factors);
      print_result(factors_text(factors, operation, time_limit(), page_width()));
      return false;
    }
    run_study(*device, operation);
    return true;
  }

  // One operation: what a network's layer runs, or what was typed.
  Operation subject() {
    WorkList work = read_targets(flags_.targets, flags_.only);
    fit_to_device(work, record_.device);
    refuse_impossible(work, record_.device);
    if (work.model.layers.size() != 1) {
      throw UsageError(fmt::format(
          "{} has {}; one is explained at a time, so pick it by --only: {}", flags_.targets.front(),
          counted(std::ssize(work.model.layers), "operation"), names_in(work.model)));
    }
    return work.model.layers.front().operation;
  }

  Nanoseconds time_limit() const { return seconds(flags_.quick ? kQuick : flags_.time_limit); }

  void run_study(Device& device, const Operation& operation) {
    ProgressLine line(stderr, host_time_now);
    line.show("calibrating the instruments of " + record_.device.name, {1, 1});
    Session session(device);
    explain::ExplainOptions options;
    options.factors = flags_.factors;
    options.time_limit = time_limit();
    options.seed = flags_.seed;
    options.interrupted = is_interrupted;
    options.progress = [&](const std::string& stage, double share) {
      line.show(fmt::format("{}: {:.0f} %, {} left", stage, share * 100.0,
                            duration_text(time_limit() * (1.0 - share))),
                {1, 1});
    };
    options.measure_in_processes = [&](std::int64_t processes) { return measure_anew(operation, processes); };
    record_.study = explain::explain(session, operation, options);
    record_.conclusions = explain::conclusions_of(*record_.study);
    record_.interrupted = record_.study->interrupted;
    line.clear();
  }

  std::vector<TimeEstimate> measure_anew(const Operation& operation, std::int64_t count) {
    MeasureOptions options;
    options.caches = {CacheState::warm};
    options.loads = {Load::burst};
    options.time_limit = seconds(1.5);
    options.seed = flags_.seed;
    const Plan plan{.groups = {{{operation, options}}}, .ceilings = false};
    const FreshProcesses processes{
        .executable = invocation_.executable, .count = count, .interrupted = is_interrupted};
    std::vector<TimeEstimate> times;
    try {
      const ProcessRecords found = run_in_fresh_processes(record_.device.id, plan, processes);
      for (const RunRecord& record : found.records) {
        for (const RunEntry& entry : record.entries) {
          if (!entry.result.measurements.empty()) times.push_back(entry.result.measurements.front().time);
        }
      }
      for (const std::string& lost : found.lost) record_.notes.push_back("Lost: " + lost + '.');
    } catch (const FailedError& error) {
      record_.notes.push_back(fmt::format("No fresh process gave a time: {}.", error.what()));
    }
    return times;
  }

  const ExplainFlags& flags_;
  Invocation& invocation_;
  ExplainRecord record_;
  std::optional<OutputFile> json_;
  std::optional<ReportFiles> report_;
};

}  // namespace

void add_explain_command(CLI::App& app, Invocation& invocation) {
  auto flags = std::make_shared<ExplainFlags>();
  CLI::App* command = app.add_subcommand(
      "explain", "say which causes move an operation's time, by how much, and how sure that is");
  command
      ->add_option("targets", flags->targets,
                   "an operation, a model or file with --only, or two records that run --json wrote")
      ->required();
  command->add_option("--only", flags->only,
                      "the layer in whose name or operation this regular expression is found");
  command->add_option("--device", flags->device, "as for run: auto, cpu, cuda, cuda:N, virtual:PRESET")
      ->capture_default_str();
  command
      ->add_option("--factors", flags->factors,
                   "only these, with commas between: " + joined(explain::factor_ids()))
      ->delimiter(',');
  command->add_flag("--quick", flags->quick, "30 s in place of 180: fewer blocks, wider intervals");
  command->add_option("--max-time", flags->time_limit, "seconds for the whole study")->capture_default_str();
  command->add_flag("--dry-run", flags->dry_run, "print what would be switched, without measuring");
  command->add_option("--seed", flags->seed, "of orders, idles, values and places")->capture_default_str();
  command->add_option("--json", flags->json, "write everything to PATH or - (stdout)");
  flags->report.add_to(*command);
  flags->page.add_to(*command);
  command->footer(kExplainExamples);
  command->callback([flags, &invocation] { ExplainCommand(*flags, invocation).run(); });
}

}  // namespace jitterscope::cli
