#include <cstdint>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "cli/advised_work.hpp"
#include "cli/invocation.hpp"
#include "cli/measure_flags.hpp"
#include "cli/output_flags.hpp"
#include "commands/advise/record.hpp"
#include "jitterscope/error.hpp"
#include "measure/machine.hpp"
#include "output/output_file.hpp"
#include "study/advice.hpp"
#include "study/loss_scaling.hpp"
#include "study/study.hpp"

// `advise`: its flags, and the record that it writes.

namespace jitterscope::cli {
namespace {

struct AdviseFlags {
  std::vector<std::string> targets, allowed;
  MeasureFlags measure;
  PageFlags page;
  RecordFlags record;
  std::string provider = "auto", only, margin = "1%", tolerance = "1%", goal = "latency";
  std::int64_t processes = 3;
  double budget = 300.0;  // in seconds
  bool dry_run = false;
};

// Refuses studies without remedies, which the user can ask by themselves.
void require_remedy(const std::string& name) {
  if (name != study::kLossScaling.id && study::find_study(name).is_remedy) return;
  throw UsageError(fmt::format(
      "--allow {0}: that study has no remedy to try; run it by itself: jitterscope study {0}", name));
}

constexpr const char* kAdviseExamples = R"(Examples:
  jitterscope advise resnet50:batch=64
  jitterscope advise conv2d:n=32,c=256,hw=14,k=256,rs=3,pad=1 --tolerance 0.1%
  jitterscope advise resnet18:batch=1,direction=fprop --goal throughput --budget 2m
  jitterscope advise linear:n=256,in=1024,out=1024 --allow engine,graph --device virtual:h200
  jitterscope advise resnet50:batch=64 --html advice.html

Exit codes: 0 done, even if nothing helps, 2 usage, 3 device or library missing, 5 the work could not be timed, 130
interrupted, with the result so far.)";

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
    RecordFiles files(flags_.record);
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
    if (const std::string other = work.unlike_the_program(); !other.empty())
      record_.conclusions.push_back(other);
    files.write(record_, flags_.page);
    if (record_.interrupted) invocation_.exit_code = ExitCode::interrupted;
  }

 private:
  void check_flags() const {
    constexpr std::int64_t kMostProcesses = 100;
    constexpr double kLeast = 5.0, kMost = 86400.0;
    if (flags_.processes < 2 || flags_.processes > kMostProcesses) {
      throw UsageError(fmt::format("--processes must be from 2 to {}: with one process a gain may be chance",
                                   kMostProcesses));
    }
    if (!(flags_.budget >= kLeast) || flags_.budget > kMost) {
      throw UsageError(fmt::format("--budget must be from {:g} s to {:g} h", kLeast, kMost / 3600.0));
    }
    if (!flags_.measure.lock_clocks.empty()) {
      throw UsageError("advise measures at the clocks that the work will have; leave --lock-clocks out");
    }
    if (!flags_.measure.loads.empty()) {
      throw UsageError(
          "advise tries remedies in bursts and checks the sum under a sustained load: leave --load out");
    }
    if (flags_.measure.caches.size() > 1)
      throw UsageError("--cache: name only the one state that the work has");
  }

  MeasureOptions own_options() const {
    MeasureOptions options = flags_.measure.options();
    if (flags_.measure.caches.empty()) options.caches = {CacheState::warm};
    options.loads = {Load::burst};
    // Three processes with alternating remedies know a ratio about twice as well as one process knows a time.
    if (!flags_.measure.asks_for_precision()) options.precision = record_.margin;
    return options;
  }

  const AdviseFlags& flags_;
  Invocation& invocation_;
  study::AdviceRecord record_;
};

}  // namespace

void add_advise_command(CLI::App& app, Invocation& invocation) {
  const auto [command, flags] = declare_command<AdviseFlags>(
      app, "advise", "find what makes work faster: try remedies and measure them together", kAdviseExamples,
      [&](const AdviseFlags& typed, const CLI::App&) { AdviseCommand(typed, invocation).run(); });
  flags.measure.queue = "eager";  // as programs launch: host time can be saved, too
  flags.measure.help = {.caches =
                            "the one cache state that the work has: warm, cold, dirty or produced "
                            "(default: warm)",
                        .precision = "as --margin",
                        .has_load = false,
                        .has_lock_clocks = false,
                        .has_sustained_time_limit = false};
  command
      .add_option("targets", flags.targets, "operations, a network or a file of layers, as `run` takes them")
      ->required();
  flags.measure.add_to(command);
  command
      .add_option(
          "--goal", flags.goal,
          "what to reduce: latency, throughput (the time for each sample, so batches may grow) or memory")
      ->capture_default_str();
  command
      .add_option("--allow", flags.allowed,
                  "try only remedies of these studies (jitterscope list studies shows them)")
      ->delimiter(',');
  command.add_option("--tolerance", flags.tolerance, "largest relative error that a result may have")
      ->capture_default_str();
  command.add_option("--margin", flags.margin, "smallest gain that counts")->capture_default_str();
  command
      .add_option(
          "--budget", flags.budget,
          "longest time in all; the longest layers are tried first, and what does not fit is left out")
      ->transform(duration_in("--budget", seconds(1)))
      ->capture_default_str();
  command
      .add_option(
          "--processes", flags.processes,
          "number of fresh processes, in each of which remedies alternate; each interval is over processes")
      ->capture_default_str();
  command
      .add_option("--provider", flags.provider,
                  "library that runs a network's layers: auto, torch or builtin")
      ->capture_default_str();
  command.add_option("--only", flags.only,
                     "only layers whose name or operation matches this regular expression");
  flags.record.add_to(command);
  flags.page.add_to(command);
  command.add_flag("--dry-run", flags.dry_run, "print what would be tried, without measuring");
}

}  // namespace jitterscope::cli
