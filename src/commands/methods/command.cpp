#include <cstdio>
#include <memory>
#include <optional>

#include <fmt/format.h>

#include "base/quantity_text.hpp"
#include "cli/invocation.hpp"
#include "cli/measure_flags.hpp"
#include "cli/output_flags.hpp"
#include "cli/targets.hpp"
#include "commands/methods/record.hpp"
#include "commands/records.hpp"
#include "device/can_run.hpp"
#include "measure/machine.hpp"
#include "output/output_file.hpp"
#include "output/progress.hpp"
#include "worker/fresh_processes.hpp"

namespace jitterscope::cli {
namespace {

struct MethodsFlags {
  ReportFlags report;
  std::string operation, json;
  MeasureFlags measure;  ///< only its device, data and seed are flags of this command
  std::int64_t repetitions = 7;
  bool dry_run = false;
};

constexpr const char* kMethodsExamples = R"(Examples:
  jitterscope methods matmul:m=512,n=512,k=512,dtype=bf16 --device cuda
  jitterscope methods matmul:m=256,n=256,k=256 --device cpu
  jitterscope methods add:count=64Ki --repetitions 15 --json methods.json
  jitterscope methods copy:bytes=8Mi --dry-run
  jitterscope methods add:count=64Ki --device virtual:h200 --seed 2

Exit codes: 0 done, 2 usage, 3 device or library missing, 5 the operation failed, 130 interrupted.)";

class MethodsCommand {
 public:
  MethodsCommand(const MethodsFlags& flags, Invocation& invocation)
      : flags_(flags), invocation_(invocation) {}

  void run() {
    constexpr std::int64_t kMost = 1000;
    if (flags_.repetitions < 1 || flags_.repetitions > kMost) {
      throw UsageError(fmt::format("--repetitions must be from 1 to {}", kMost));
    }
    refuse_file_as_operation(flags_.operation);
    const Operation operation = Operation::parse(flags_.operation);
    request_.repetitions = flags_.repetitions;
    request_.options = flags_.measure.options();
    files_.emplace(flags_.json, flags_.report);
    const std::unique_ptr<Device> device = open_device(flags_.measure.device, flags_.measure.seed);
    record_.device = device->describe();
    check_can_run(operation, record_.device);
    record_.environment = read_environment(invocation_.command_line);
    if (flags_.dry_run) {
      print_result(plan(operation));
      return;
    }
    measure(*device, operation);
    print();
  }

 private:
  std::string plan(const Operation& operation) const {
    const Nanoseconds idle = idle_in_repetition(request_.options) * static_cast<double>(flags_.repetitions);
    return fmt::format(
        "{} by every method on {} ({}), {} repetitions, data {}: about {}, and the launches themselves.\n",
        operation.text(), record_.device.id, record_.device.name, flags_.repetitions,
        to_string(request_.options.data), duration_text(idle));
  }

  void measure(Device& device, const Operation& operation) {
    ProgressLine line(stderr, [&] { return device.host_time(); });
    const auto show = [&](std::int64_t repetition, const std::string& what) {
      Progress progress;
      progress.operation = what;
      line.show(progress,
                {static_cast<std::size_t>(repetition), static_cast<std::size_t>(flags_.repetitions)});
    };
    request_.progress = show;
    show(1, "preparing on " + record_.device.name);
    // Runs before this process allocates operands, because the GPU may not have room for both.
    request_.traced = traced_times(operation);
    Session session(device);
    record_.comparison = compare_methods(session, operation, request_);
    line.clear();
    invocation_.exit_code = exit_code();
  }

  // Uses a separate process, because a tracer slows what runs beside it. Runs a round per repetition, or the
  // few more that an interval needs.
  TracedTimes traced_times(const Operation& operation) const {
    if (!record_.device.capabilities.traces_kernels)
      return {{}, "CUPTI works only on GPUs, and this device is not one"};
    MeasureOptions options = request_.options;
    options.caches = {CacheState::warm};
    options.loads = {Load::burst};
    options.instrument = Instrument::cupti;
    options.placement = 0;
    options.precision = 0.99;
    options.minimum_rounds = request_.repetitions;
    try {
      const Result result = measure_in_fresh_process(invocation_.executable, record_.device.id,
                                                     {operation, options}, is_interrupted);
      return {round_times(result.measurements.front()), ""};
    } catch (const Error& error) {
      return {{}, error.what()};
    }
  }

  std::vector<Nanoseconds> round_times(const Measurement& measurement) const {
    std::vector<Nanoseconds> times;
    for (const Round& round : measurement.rounds) {
      if (std::ssize(times) < request_.repetitions) times.push_back(round.time());
    }
    return times;
  }

  ExitCode exit_code() const {
    if (record_.comparison.interrupted) return ExitCode::interrupted;
    for (const MethodReading& reading : record_.comparison.readings) {
      if (!reading.times.empty() && !reading.absent.empty()) return ExitCode::failed;
    }
    return ExitCode::done;
  }

  void print() { files_->write(record_); }

  const MethodsFlags& flags_;
  Invocation& invocation_;
  MethodsRequest request_;
  MethodsRecord record_;
  std::optional<RecordFiles> files_;
};

}  // namespace

void add_methods_command(CLI::App& app, Invocation& invocation) {
  auto flags = std::make_shared<MethodsFlags>();
  CLI::App* command =
      app.add_subcommand("methods", "time one operation by every method, and show what each gets wrong here");
  command->add_option("operation", flags->operation, "the operation (KIND:name=value,…)")->required();
  command->add_option("--device", flags->measure.device, kDeviceHelp)->capture_default_str();
  command->add_option("--repetitions", flags->repetitions, "how often to use each method")
      ->capture_default_str();
  command
      ->add_option("--data", flags->measure.data,
                   "values of the operands: normal, uniform, zeros, ones or sparse")
      ->capture_default_str();
  command
      ->add_option("--seed", flags->measure.seed,
                   "seed of the operands, the random idles and orders, and a simulated device")
      ->capture_default_str();
  command->add_option("--json", flags->json, "write everything to PATH or - (stdout)");
  flags->report.add_to(*command);
  command->add_flag("--dry-run", flags->dry_run, "print what would be measured and how long it would take");
  command->footer(kMethodsExamples);
  command->callback([flags, &invocation] { MethodsCommand(*flags, invocation).run(); });
}

}  // namespace jitterscope::cli
