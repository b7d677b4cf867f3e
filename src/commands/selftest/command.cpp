#include <cstdio>
#include <memory>
#include <optional>

#include <fmt/format.h>

#include "base/host.hpp"
#include "base/quantity_text.hpp"
#include "cli/invocation.hpp"
#include "cli/output_flags.hpp"
#include "commands/records.hpp"
#include "commands/selftest/record.hpp"
#include "device/open_device.hpp"
#include "measure/machine.hpp"
#include "output/output_file.hpp"
#include "output/progress.hpp"
#include "selftest/run_proofs.hpp"
#include "worker/fresh_processes.hpp"
#include "worker/in_step.hpp"

namespace jitterscope::cli {
namespace {

using selftest::SelftestProgress;
using selftest::SelftestRecord;

struct SelftestFlags {
  ReportFlags report;
  std::string device = "virtual", json, markdown;
  std::vector<std::string> only;
  std::uint64_t seed = 1;
  bool quick = false, list = false, dry_run = false, details = false;
};

constexpr const char* kSelftestExamples = R"(Examples:
  jitterscope selftest --quick
  jitterscope selftest --device cuda
  jitterscope selftest --device cuda --markdown truth.md --json truth.json
  jitterscope selftest --quick --html truth.html
  jitterscope selftest --device cpu --only clock,cycles
  jitterscope selftest --list

Exit codes: 0 no line missed and some passed (PARTLY PROVEN if others had too few trials to tell),
1 a line missed or none passed, 2 usage, 3 device or library missing, 130 interrupted, with the proofs so far.)";

std::string progress_text(const SelftestProgress& progress) {
  std::string text = std::string(progress.proof);
  if (!progress.what.empty()) text += ": " + progress.what;
  return text + fmt::format(", {:.0f} %, {} left", progress.share * 100, duration_text(progress.time_left));
}

class SelftestCommand {
 public:
  SelftestCommand(const SelftestFlags& flags, Invocation& invocation)
      : flags_(flags), invocation_(invocation) {}

  void run() {
    if (flags_.list) {
      print_result(proofs_table(selftest::all_proofs(), page_width()));
      return;
    }
    const auto place =
        names_virtual_device(flags_.device) ? selftest::Place::simulation : selftest::Place::machine;
    request_.proofs = selftest::choose_proofs(place, flags_.only);
    if (!flags_.json.empty()) json_.emplace(flags_.json);
    if (!flags_.markdown.empty()) markdown_.emplace(flags_.markdown);
    report_.emplace(flags_.report);
    const std::unique_ptr<Device> device = open_device(flags_.device);
    if (flags_.dry_run) {
      print_plan(device->describe());
      return;
    }
    record_.environment = read_environment(invocation_.command_line);
    prove(*device);
    print();
  }

 private:
  TimeEstimate measure_in_fresh_process(const Operation& operation, std::uint64_t seed) const {
    MeasureOptions options;
    options.caches = {CacheState::warm};
    options.loads = {Load::burst};
    options.seed = seed;
    return jitterscope::measure_in_fresh_process(invocation_.executable, flags_.device, {operation, options},
                                                 is_interrupted)
        .measurements.front()
        .time;
  }

  void print_plan(const DeviceDescription& device) const {
    std::string text =
        fmt::format("{} of {} proofs would run on {} ({}), in about {}:\n\n", request_.proofs.size(),
                    selftest::all_proofs().size(), device.id, device.name,
                    duration_text(selftest::expected_time(request_.proofs, flags_.quick)));
    for (const selftest::Proof* proof : request_.proofs) {
      text += fmt::format("{}: {}\n", proof->name, proof->summary);
    }
    print_result(text);
  }

  void prove(Device& device) {
    ProgressLine line(stderr, host_time_now);
    request_.progress = [&](const SelftestProgress& progress) {
      line.show(progress_text(progress), PlanPosition{progress.number, progress.total});
    };
    request_.now = host_time_now;
    request_.options.quick = flags_.quick;
    request_.options.seed = flags_.seed;
    request_.options.interrupted = is_interrupted;
    request_.options.measure_in_fresh_process = [this](const Operation& operation, std::uint64_t seed) {
      return measure_in_fresh_process(operation, seed);
    };
    request_.options.measure_on_ranks = [this](const std::string& cluster, std::int64_t ranks,
                                               const Plan& plan, std::uint64_t seed) {
      std::vector<WorkerPlan> plans(static_cast<std::size_t>(ranks),
                                    {.device = cluster, .device_seed = seed, .plan = plan});
      return run_in_step(std::move(plans),
                         {.executable = invocation_.executable, .interrupted = is_interrupted});
    };
    run_proofs(device, request_, record_, [&](const SelftestRecord& record) {
      if (json_) json_->save(write_record(record));
      if (markdown_) markdown_->save(selftest_markdown(record));
    });
    line.clear();
    invocation_.exit_code = selftest::exit_code_of(record_);
  }

  void print() {
    if (flags_.json != "-" && flags_.markdown != "-") {
      print_result(flags_.details ? selftest_table(record_, page_width())
                                  : selftest_summary(record_, page_width()));
    }
    if (json_) json_->commit(write_record(record_));
    if (markdown_) markdown_->commit(selftest_markdown(record_));
    report_->write(record_);
  }

  const SelftestFlags& flags_;
  Invocation& invocation_;
  selftest::SelftestRequest request_;
  SelftestRecord record_;
  std::optional<OutputFile> json_, markdown_;
  std::optional<ReportFiles> report_;
};

}  // namespace

void add_selftest_command(CLI::App& app, Invocation& invocation) {
  const auto [command, flags] = declare_command<SelftestFlags>(
      app, "selftest", "check the tool's numbers against known truth, on simulated GPUs or on this device",
      kSelftestExamples,
      [&](const SelftestFlags& typed, const CLI::App&) { SelftestCommand(typed, invocation).run(); });
  command.add_option("--device", flags.device, "virtual, cuda, cuda:N or cpu")->capture_default_str();
  command.add_flag("--quick", flags.quick, "fewer repetitions and runs: about a minute");
  command.add_option("--seed", flags.seed, "seed of the simulations, random idles and orders")
      ->capture_default_str();
  command.add_option("--only", flags.only, "run only these proofs, separated by commas")->delimiter(',');
  command.add_flag("--list", flags.list, "list the proofs and what each shows");
  command.add_flag("--details", flags.details, "print every line, not only those that missed");
  command.add_option("--json", flags.json, "write everything as JSON to PATH or - (stdout)");
  command.add_option("--markdown", flags.markdown,
                     "write the table with machine, versions, date and command to PATH or - (stdout)");
  flags.report.add_to(command);
  command.add_flag("--dry-run", flags.dry_run, "print what would be proven and how long it would take");
}

}  // namespace jitterscope::cli
