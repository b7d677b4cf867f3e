#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>

#include "base/names.hpp"
#include "cli/alternatives.hpp"
#include "cli/commands.hpp"
#include "cli/compared_processes.hpp"
#include "cli/interruption.hpp"
#include "cli/margin.hpp"
#include "cli/measure_flags.hpp"
#include "cli/page_flags.hpp"
#include "cli/python_subject.hpp"
#include "cli/record_files.hpp"
#include "cli/report_files.hpp"
#include "cli/typed_flags.hpp"
#include "measure/environment.hpp"
#include "operation/pytorch_rules.hpp"
#include "output/comparison_table.hpp"
#include "output/output_file.hpp"
#include "output/standard_output.hpp"
#include "record/record.hpp"
#include "worker/fresh_processes.hpp"

namespace jitterscope::cli {
namespace {

struct CompareFlags {
  ReportFlags report;
  std::vector<std::string> targets, vary;
  MeasureFlags measure;
  PageFlags page;
  std::string provider = "auto", only, json, margin = "1%", fail_if;
  std::int64_t processes = 8;
  bool verify = false, dry_run = false;
};

constexpr const char* kCompareExamples = R"(Examples:
  jitterscope compare matmul:m=512,n=512,k=512,dtype=f16 matmul:m=512,n=512,k=512,dtype=bf16
  jitterscope compare conv2d:n=32,c=64,hw=56,k=64,rs=3,pad=1,dtype=f16 --vary engine=pytorch,best
  jitterscope compare conv2d:n=8,c=64,hw=56,k=128,rs=3,pad=1 --vary layout=nchw,nhwc --vary dtype=f32,f16
  jitterscope compare add:count=8Mi --vary cache=warm,cold --margin 2%
  jitterscope compare linear:n=256,in=1024,out=1024 --vary dtype=f32,tf32,bf16,f16 --verify
  jitterscope compare resnet18:layout=nchw resnet18:layout=nhwc --processes 5
  jitterscope compare monday.json tuesday.json
  jitterscope compare softmax:rows=4096,columns=1024 softmax:rows=1024,columns=4096 --fail-if slower

Exit codes: 0 done, 1 --fail-if and what it names was shown or --verify found a wrong result, 2 usage, 3 device or library missing,
5 nothing could be compared since an operation failed, 130 interrupted.)";

// A ratio over eight processes is known about twice as well as one process knows its own.
constexpr double kPairPrecision = 0.25;  // of the margin

class CompareCommand {
 public:
  CompareCommand(const CompareFlags& flags, const CLI::App& command, Invocation& invocation)
      : flags_(flags), command_(command), invocation_(invocation) {}

  void run() {
    check_flags();
    record_.margin = read_margin(flags_.margin);
    if (!flags_.json.empty()) json_.emplace(flags_.json);
    report_.emplace(flags_.report);
    record_.environment = read_environment(invocation_.command_line);
    if (!invocation_.settings.empty()) record_.notes.push_back(invocation_.settings);
    if (are_records(flags_.targets)) {
      compare_files();
    } else if (are_python(flags_.targets)) {
      compare_python();
    } else if (!measure()) {
      return;
    }
    if (flags_.json != "-") {
      print_result(comparison_table(record_, flags_.page.page(has_several_items(record_))));
    }
    if (json_) json_->commit(write_record(record_));
    report_->write(record_);
    warn_of_unjudged();
    invocation_.exit_code = exit_code();
  }

 private:
  void check_flags() const {
    constexpr std::int64_t kMost = 1000;
    if (flags_.processes < 1 || flags_.processes > kMost) {
      throw UsageError(fmt::format("--processes: 1 to {}", kMost));
    }
    if (!flags_.fail_if.empty() && flags_.fail_if != "slower" && flags_.fail_if != "different") {
      throw UsageError(
          fmt::format("--fail-if: '{}' is unknown; slower, or different (slower or faster)", flags_.fail_if));
    }
  }

  void compare_files() {
    if (flags_.targets.size() != 2) throw UsageError("records are compared in pairs: name two files");
    if (!flags_.vary.empty()) throw UsageError("--vary: what is recorded cannot be varied any more");
    if (flags_.verify) throw UsageError("--verify: what is recorded cannot be verified any more");
    refuse_typed_flags(
        command_, invocation_,
        {"--margin", "--fail-if", "--json", "--html", "--plot", "--top", "--findings", "--details"},
        "two records are compared as they were measured, and nothing is measured anew; leave it out, "
        "or name operations or models in place of records");
    record_.alternatives = flags_.targets;
    record_.title = flags_.targets[0] + " and " + flags_.targets[1];
    const RunRecord first = read_run_file(flags_.targets[0]), second = read_run_file(flags_.targets[1]);
    record_.device = second.device;
    compare_records(first, second, record_);
  }

  void compare_python() {
    if (flags_.targets.size() < 2) throw UsageError("compare takes two functions of Python or more");
    if (!flags_.vary.empty() || flags_.dry_run || flags_.verify || !flags_.only.empty() ||
        !flags_.measure.lock_clocks.empty()) {
      throw UsageError(
          "--vary, --only, --verify, --dry-run and --lock-clocks are for operations and models; name each function of Python");
    }
    record_.alternatives = python_labels(flags_.targets);
    record_.processes_asked = flags_.processes;
    ProcessRecords found =
        run_python({flags_.targets}, flags_.measure.device, shared_options(), flags_.processes);
    if (found.records.empty()) throw InterruptedError();
    record_.device = found.records.front().device;
    record_.interrupted = found.interrupted;
    record_.lost_processes = std::move(found.lost);
    for (const std::string& note : found.records.front().notes) record_.notes.push_back(note);
    compare_processes(python_items(found.records, flags_.targets.size()), found.records, record_);
  }

  MeasureOptions shared_options() const {
    MeasureOptions options = flags_.measure.options();
    if (flags_.measure.loads.empty()) options.loads = {Load::burst};
    if (!flags_.measure.asks_for_precision()) options.precision = record_.margin * kPairPrecision;
    return options;
  }

  // False where it was to be said only what would be done.
  bool measure() {
    const std::vector<Alternative> alternatives =
        read_alternatives(flags_.targets, flags_.vary, flags_.measure, flags_.provider);
    for (const Alternative& alternative : alternatives) record_.alternatives.push_back(alternative.label);
    record_.title = flags_.targets.size() == 1 ? flags_.targets.front() : "";
    record_.processes_asked = flags_.processes;
    std::unique_ptr<Device> device = open_device(flags_.measure.device, flags_.measure.seed);
    record_.device = device->describe();
    MeasureOptions options = shared_options();
    std::unique_ptr<ClockLock> lock;
    if (!flags_.measure.lock_clocks.empty()) {
      lock = device->lock_clocks(flags_.measure.lock_clocks);
      options.locked_clock = lock->frequency();
    }
    const std::vector<ComparedAlternative> works = read_works(alternatives, flags_.only, record_.device);
    ComparedWork work = pair_alternatives(works, options, record_.device);
    note_unlike_work(works, work);
    note_what_pytorch_runs(works);
    work.plan.verify = flags_.verify;
    record_.notes.insert(record_.notes.end(), work.notes.begin(), work.notes.end());
    record_.left_out = work.left_out;
    if (flags_.dry_run) {
      print_result(comparison_plan_text(work, record_));
      return false;
    }
    if (!lock) device.reset();  // its memory is the workers' then
    compare_in_processes(work, invocation_, record_);
    return true;
  }

  // Ratios are to the first one: where that is as PyTorch runs it nothing need be said.
  void note_what_pytorch_runs(const std::vector<ComparedAlternative>& works) {
    const bool is_first_as_pytorch =
        std::ranges::any_of(works.front().work.model.layers, [](const Layer& layer) {
          const auto* conv = std::get_if<Conv2d>(&layer.operation.parameters());
          return conv != nullptr && conv->dtype == kPytorchConvolutionOfF32;
        });
    if (is_first_as_pytorch) return;
    for (const ComparedAlternative& each : works) {
      if (const std::string note = note_on_f32(each.work, record_.device); !note.empty())
        add_once(record_.notes, note);
    }
  }

  // A caller that asks for an exit code only would take silence for a pass.
  void warn_of_unjudged() const {
    if (flags_.fail_if.empty() || record_.interrupted) return;
    const auto is_partial = [&](const TotalComparison& each) { return !is_whole(record_, each); };
    if (record_.left_out.empty() && std::ranges::none_of(record_.totals, is_partial)) return;
    fmt::print(stderr,
               "jitterscope: --fail-if {}: nothing was judged where layers are left out, as a total of the "
               "others says nothing of the whole networks; pick the layers in common with --only\n",
               flags_.fail_if);
  }

  ExitCode exit_code() const {
    if (record_.interrupted) return ExitCode::interrupted;
    using statistics::EffectVerdict;
    const auto fails = [&](EffectVerdict verdict) {
      if (flags_.fail_if.empty()) return false;
      return verdict == EffectVerdict::slower ||
             (verdict == EffectVerdict::faster && flags_.fail_if == "different");
    };
    const auto has_failed = [](const Comparison& comparison) { return !comparison.failure.empty(); };
    const auto& all = record_.comparisons;
    if (std::ranges::any_of(all, is_wrong)) return ExitCode::check_failed;
    if (!all.empty() && std::ranges::all_of(all, has_failed)) return ExitCode::failed;
    const bool are_networks = !record_.totals.empty() || !record_.left_out.empty();
    const auto total_fails = [&](const TotalComparison& each) {
      return is_whole(record_, each) && fails(each.verdict);
    };
    // Of a network the total decides.
    const bool shown =
        are_networks ? std::ranges::any_of(record_.totals, total_fails)
                     : std::ranges::any_of(all, [&](const Comparison& each) { return fails(each.verdict); });
    return shown ? ExitCode::check_failed : ExitCode::done;
  }

  const CompareFlags& flags_;
  const CLI::App& command_;
  Invocation& invocation_;
  ComparisonRecord record_;
  std::optional<OutputFile> json_;
  std::optional<ReportFiles> report_;
};

}  // namespace

void add_compare_command(CLI::App& app, Invocation& invocation) {
  auto flags = std::make_shared<CompareFlags>();
  CLI::App* command = app.add_subcommand(
      "compare", "say which is faster: operations, models, variants of one, or two records");
  command
      ->add_option("targets", flags->targets,
                   "two or more operations or models, the others against the first; one with --vary; or two "
                   "files that --json wrote")
      ->required();
  command
      ->add_option(
          "--vary", flags->vary,
          "NAME=VALUE,VALUE: a parameter of the operation or model, or cache, data, queue, instrument "
          "or provider; several --vary give all combinations")
      ->allow_extra_args(false);
  command
      ->add_option("--processes", flags->processes,
                   "fresh processes in which they alternate; the unit of each interval")
      ->capture_default_str();
  command->add_option("--margin", flags->margin, "how far apart counts as the same")->capture_default_str();
  command->add_flag(
      "--verify", flags->verify,
      "compare each result with a float64 reference, and where only types differ with that of the "
      "first one's inputs");
  command->add_option("--fail-if", flags->fail_if,
                      "slower or different: exit code 1 where that is shown (of a network by its total)");
  flags->measure.add_to(*command);
  command->add_option("--provider", flags->provider, "what runs a model's layers: auto, torch, builtin")
      ->capture_default_str();
  command->add_option("--only", flags->only,
                      "compare the layers in whose name or operation this regular expression is found");
  command->add_option("--json", flags->json, "write everything to PATH or - (stdout)");
  flags->report.add_to(*command);
  flags->page.add_to(*command);
  command->add_flag("--dry-run", flags->dry_run, "print what would be compared and how long it takes");
  command->footer(kCompareExamples);
  command->callback([flags, command, &invocation] { CompareCommand(*flags, *command, invocation).run(); });
}

}  // namespace jitterscope::cli
