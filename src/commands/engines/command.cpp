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
  RecordFlags record;
  std::string operation;
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

EngineRanking rank(Device& device, const Operation& operation, MeasureOptions options,
                   const EnginesFlags& flags) {
  const std::unique_ptr<ClockLock> lock = flags.measure.lock(device, options);
  ProgressLine line(stderr, [&] { return device.host_time(); });
  line.show("calibrating the instruments of " + device.describe().name, {1, 1});
  Session session(device);
  EngineRanking ranking = rank_engines(session, operation, options, flags.imitations,
                                       [&](const std::string& stage, std::size_t number, std::size_t total) {
                                         line.show(stage, {number, total});
                                       });
  line.clear();
  return ranking;
}

void rank_engines_of(const EnginesFlags& flags, Invocation& invocation) {
  check_count("--imitations", flags.imitations, 0, 10'000);
  refuse_file_as_operation(flags.operation);
  const Operation operation = Operation::parse(flags.operation);
  if (!engine_of(operation).empty()) {
    throw UsageError("all engines are ranked: leave engine= out of the operation");
  }
  MeasureOptions options = flags.measure.options();
  if (flags.measure.caches.empty()) options.caches = {CacheState::warm};
  if (flags.measure.loads.empty()) options.loads = {Load::burst};
  RecordFiles files(flags.record);
  const std::unique_ptr<Device> device = open_device(flags.measure.device, flags.measure.seed);
  EnginesRecord record{.environment = read_environment(invocation.command_line),
                       .device = device->describe(),
                       .ranking = list_ranking(*device, operation)};  // fails at once if there are none
  WorkList work;
  work.model.layers.push_back({{}, operation});
  if (const std::string note = note_on_f32(work, record.device); !note.empty())
    fmt::print(stderr, "jitterscope: {}\n", note);
  if (!flags.list) record.ranking = rank(*device, operation, options, flags);
  if (record.ranking.interrupted) invocation.exit_code = ExitCode::interrupted;
  files.write(record);
}

}  // namespace

void add_engines_command(CLI::App& app, Invocation& invocation) {
  const auto [command, flags] = declare_command<EnginesFlags>(
      app, "engines", "rank the engines that can run an operation, and show which ones PyTorch would take",
      kEnginesExamples,
      [&](const EnginesFlags& typed, const CLI::App&) { rank_engines_of(typed, invocation); });
  command.add_option("operation", flags.operation, "operation (conv2d:…, matmul:…, linear:…)")->required();
  flags.measure.help = {.caches = "cache states: warm, cold, dirty, produced (default: warm)"};
  flags.measure.add_to(command);
  command
      .add_option("--imitations", flags.imitations,
                  "how often to imitate PyTorch's choice with benchmark=True")
      ->capture_default_str();
  command.add_flag("--list", flags.list, "list the engines in PyTorch's order, without measuring");
  flags.record.add_to(command);
}

}  // namespace jitterscope::cli
