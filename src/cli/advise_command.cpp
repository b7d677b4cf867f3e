#include <fmt/format.h>

#include <memory>
#include <optional>

#include "cli/advised_work.hpp"
#include "cli/commands.hpp"
#include "cli/margin.hpp"
#include "cli/measure_flags.hpp"
#include "cli/page_flags.hpp"
#include "cli/report_files.hpp"
#include "measure/environment.hpp"
#include "output/advice_table.hpp"
#include "output/output_file.hpp"
#include "output/standard_output.hpp"
#include "record/record.hpp"
#include "study/loss_scaling.hpp"
#include "study/study.hpp"

namespace jitterscope::cli {
namespace {

struct AdviseFlags {
  std::vector<std::string> targets, allowed;
  MeasureFlags measure;
  PageFlags page;
  ReportFlags report;
  std::string provider = "auto", only, json, margin = "1%", tolerance = "1%", goal = "latency";
  std::int64_t processes = 3;
  double budget = 300.0;  // seconds
  bool dry_run = false;
};

// Of the studies that are none, each is asked by itself.
void require_remedy(const std::string& name) {
  if (name != study::kLossScaling.id && study::find_study(name).is_remedy) return;
  throw UsageError(fmt::format(
      "--allow {0}: that study shows what a machine or a training does, and has no remedy to try; ask it by "
      "itself: jitterscope study {0}",
      name));
}

constexpr const char* kAdviseExamples = R"(Examples:
  jitterscope advise resnet50:batch=64
  jitterscope advise conv2d:n=32,c=256,hw=14,k=256,rs=3,pad=1 --tolerance 0.1%
  jitterscope advise resnet18:batch=1,direction=fprop --goal throughput --budget 2m
  jitterscope advise linear:n=256,in=1024,out=1024 --allow engine,graph --device virtual:h200
  jitterscope advise resnet50:batch=64 --html advice.html

Exit codes: 0 done, also where nothing helps, 2 usage, 3 device or library missing, 5 the work has no time, 130
interrupted, with what was known by then.)";

const std::vector<study::Goal> kGoals = {study::Goal::latency, study::Goal::throughput, study::Goal::memory};

class AdviseCommand {
 public:
  AdviseCommand(const AdviseFlags& flags, Invocation& invocation) : flags_(flags), invocation_(invocation) {}

  void run() {
    check_flags();
    for (const std::string& name : flags_.allowed) require_remedy(name);
    record_.goal = read_word("--goal", flags_.goal, kGoals);
    record_.margin = read_margin(flags_.margin);
    record_.tolerance = read_percentage("--tolerance", flags_.tolerance);
    if (!flags_.json.empty()) json_.emplace(flags_.json);
    report_.emplace(flags_.report);
    record_.environment = read_environment(invocation_.command_line);
    if (!invocation_.settings.empty()) record_.notes.push_back(invocation_.settings);
    AdvisedWork work({.targets = flags_.targets,
                      .only = flags_.only,
                      .provider = flags_.provider,
                      .device = flags_.measure.device,
                      .allowed = flags_.allowed,
                      .options = own_options(),
                      .processes = flags_.processes,
                      .budget = seconds(flags_.budget)},
                     invocation_, record_);
    if (flags_.dry_run) {
      print_result(work.plan_text());
      return;
    }
    work.advise();
    record_.conclusions = study::conclusions_of(record_);
    if (flags_.json != "-") print_result(advice_table(record_, flags_.page.page(false)));
    if (json_) json_->commit(write_record(record_));
    report_->write(record_);
    if (record_.interrupted) invocation_.exit_code = ExitCode::interrupted;
  }

 private:
  void check_flags() const {
    constexpr std::int64_t kMostProcesses = 100;
    constexpr double kLeast = 5.0, kMost = 86400.0;
    if (flags_.processes < 2 || flags_.processes > kMostProcesses) {
      throw UsageError(fmt::format("--processes: 2 to {}: one process cannot tell a gain from its own luck",
                                   kMostProcesses));
    }
    if (!(flags_.budget >= kLeast) || flags_.budget > kMost) {
      throw UsageError(fmt::format("--budget: {:g} s to {:g} h", kLeast, kMost / 3600.0));
    }
    if (!flags_.measure.lock_clocks.empty()) {
      throw UsageError(
          "advise tries remedies at the clocks that the work will have: leave --lock-clocks out");
    }
    if (!flags_.measure.loads.empty()) {
      throw UsageError(
          "advise tries remedies in bursts and checks the sum under a sustained load: leave --load out");
    }
    if (flags_.measure.caches.size() > 1) throw UsageError("--cache: one state, the one that the work has");
  }

  MeasureOptions own_options() const {
    MeasureOptions options = flags_.measure.options();
    if (flags_.measure.caches.empty()) options.caches = {CacheState::warm};
    options.loads = {Load::burst};
    // Three processes, in which remedies alternate, know a ratio about twice as well as one knows a time.
    if (!flags_.measure.asks_for_precision()) options.precision = record_.margin;
    return options;
  }

  const AdviseFlags& flags_;
  Invocation& invocation_;
  study::AdviceRecord record_;
  std::optional<OutputFile> json_;
  std::optional<ReportFiles> report_;
};

}  // namespace

void add_advise_command(CLI::App& app, Invocation& invocation) {
  auto flags = std::make_shared<AdviseFlags>();
  flags->measure.queue = "eager";  // as programs launch: what the host costs can be saved as well
  flags->measure.help = {.caches =
                             "the one cache state that the work has: warm, cold, dirty or produced "
                             "(default: warm)",
                         .precision = "as --margin",
                         .has_load = false,
                         .has_lock_clocks = false,
                         .has_sustained_time_limit = false};
  CLI::App* command =
      app.add_subcommand("advise", "say what would make work shorter: tries remedies and measures their sum");
  command
      ->add_option("targets", flags->targets,
                   "operations, a network or a file of layers, as `run` takes them")
      ->required();
  flags->measure.add_to(*command);
  command
      ->add_option("--goal", flags->goal,
                   "what is to become less: latency, throughput (the time for each sample, so that "
                   "batches may grow), memory")
      ->capture_default_str();
  command->add_option("--allow", flags->allowed, "only remedies of these studies; jitterscope list studies")
      ->delimiter(',');
  command->add_option("--tolerance", flags->tolerance, "the largest relative error of a result")
      ->capture_default_str();
  command->add_option("--margin", flags->margin, "a gain must be shown to be larger")->capture_default_str();
  command
      ->add_option("--budget", flags->budget,
                   "how long it may take; what does not fit is left out, the longest layers first in")
      ->transform(duration_in("--budget", seconds(1)))
      ->capture_default_str();
  command
      ->add_option("--processes", flags->processes,
                   "fresh processes in which remedies alternate; the unit of each interval")
      ->capture_default_str();
  command->add_option("--provider", flags->provider, "what runs a network's layers: auto, torch, builtin")
      ->capture_default_str();
  command->add_option("--only", flags->only,
                      "only layers in whose name or operation this regular expression is found");
  command->add_option("--json", flags->json, "write everything to PATH or - (stdout)");
  flags->report.add_to(*command);
  flags->page.add_to(*command);
  command->add_flag("--dry-run", flags->dry_run, "print what would be tried");
  command->footer(kAdviseExamples);
  command->callback([flags, &invocation] { AdviseCommand(*flags, invocation).run(); });
}

}  // namespace jitterscope::cli
