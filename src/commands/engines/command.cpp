#include <cstdio>
#include <memory>
#include <optional>

#include <fmt/format.h>

#include "cli/invocation.hpp"
#include "cli/measure_flags.hpp"
#include "cli/output_flags.hpp"
#include "cli/targets.hpp"
#include "commands/engines/record.hpp"
#include "commands/records.hpp"
#include "measure/machine.hpp"
#include "operation/operation.hpp"
#include "output/output_file.hpp"
#include "output/progress.hpp"

namespace jitterscope::cli {
namespace {

struct EnginesFlags {
  ReportFlags report;
  std::string operation, json;
  MeasureFlags measure;
  std::int64_t imitations = 50;
  bool list = false;
};

constexpr const char* kEnginesExamples = R"(Examples:
  jitterscope engines conv2d:n=32,c=64,hw=56,k=64,rs=3,pad=1,dtype=f16,layout=nhwc --device cuda
  jitterscope engines conv2d:n=8,c=64,hw=56,k=128,rs=3,pad=1,dtype=tf32,direction=dgrad --imitations 200
  jitterscope engines conv2d:n=1,c=512,hw=7,k=512,rs=3,pad=1,dtype=f16 --list
  jitterscope engines linear:n=1024,in=768,out=3072,dtype=bf16 --cache warm,cold --json engines.json

Exit codes: 0 done, 2 usage, 3 device or library missing, 5 the operation failed, 130 interrupted.)";

class EnginesCommand {
 public:
  EnginesCommand(const EnginesFlags& flags, Invocation& invocation)
      : flags_(flags), invocation_(invocation) {}

  void run() {
    constexpr std::int64_t kMost = 10'000;
    if (flags_.imitations < 0 || flags_.imitations > kMost) {
      throw UsageError(fmt::format("--imitations must be from 0 to {}", kMost));
    }
    refuse_file_as_operation(flags_.operation);
    const Operation operation = Operation::parse(flags_.operation);
    if (!engine_of(operation).empty()) {
      throw UsageError("all engines are ranked: leave engine= out of the operation");
    }
    MeasureOptions options = flags_.measure.options();
    if (flags_.measure.caches.empty()) options.caches = {CacheState::warm};
    if (flags_.measure.loads.empty()) options.loads = {Load::burst};
    files_.emplace(flags_.json, flags_.report);
    const std::unique_ptr<Device> device = open_device(flags_.measure.device, flags_.measure.seed);
    record_.device = device->describe();
    record_.environment = read_environment(invocation_.command_line);
    record_.ranking = list_ranking(*device, operation);  // fails at once if there are none
    WorkList work;
    work.model.layers.push_back({{}, operation});
    if (const std::string note = note_on_f32(work, record_.device); !note.empty())
      fmt::print(stderr, "jitterscope: {}\n", note);
    if (!flags_.list) rank(*device, operation, options);
    files_->write(record_);
  }

 private:
  void rank(Device& device, const Operation& operation, MeasureOptions& options) {
    std::unique_ptr<ClockLock> lock;
    if (!flags_.measure.lock_clocks.empty()) {
      lock = device.lock_clocks(flags_.measure.lock_clocks);
      options.locked_clock = lock->frequency();
    }
    ProgressLine line(stderr, [&] { return device.host_time(); });
    line.show("calibrating the instruments of " + record_.device.name, {1, 1});
    Session session(device);
    record_.ranking = rank_engines(session, operation, options, flags_.imitations,
                                   [&](const std::string& stage, std::size_t number, std::size_t total) {
                                     line.show(stage, {number, total});
                                   });
    line.clear();
    if (record_.ranking.interrupted) invocation_.exit_code = ExitCode::interrupted;
  }

  const EnginesFlags& flags_;
  Invocation& invocation_;
  EnginesRecord record_;
  std::optional<RecordFiles> files_;
};

}  // namespace

void add_engines_command(CLI::App& app, Invocation& invocation) {
  auto flags = std::make_shared<EnginesFlags>();
  CLI::App* command = app.add_subcommand(
      "engines", "rank the engines that can run an operation, and show which ones PyTorch would take");
  command->add_option("operation", flags->operation, "operation (conv2d:…, matmul:…, linear:…)")->required();
  flags->measure.add_to(*command);
  command
      ->add_option("--imitations", flags->imitations,
                   "how often to imitate PyTorch's choice with benchmark=True")
      ->capture_default_str();
  command->add_flag("--list", flags->list, "list the engines in PyTorch's order, without measuring");
  command->add_option("--json", flags->json, "write everything to PATH or - (stdout)");
  flags->report.add_to(*command);
  command->footer(kEnginesExamples);
  command->callback([flags, &invocation] { EnginesCommand(*flags, invocation).run(); });
}

}  // namespace jitterscope::cli
