#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/quantity_text.hpp"
#include "cli/invocation.hpp"
#include "cli/measure_flags.hpp"
#include "cli/output_flags.hpp"
#include "cli/simulation_time.hpp"
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
  RecordFlags record;
  std::string operation;
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

std::string methods_plan(const Operation& operation, const DeviceDescription& device,
                         const MethodsRequest& request) {
  const Nanoseconds idle = idle_in_repetition(request.options) * static_cast<double>(request.repetitions);
  return fmt::format(
      "{} by every method on {} ({}), {} repetitions, data {}: about {}, and the launches themselves.\n",
      operation.text(), device.id, device.name, request.repetitions, to_string(request.options.data),
      duration_on(device, idle));
}

// Uses a separate process, because a tracer slows what runs beside it. Runs a round per repetition, or the
// few more that an interval needs.
TracedTimes traced_times(const Operation& operation, const DeviceDescription& device,
                         const MethodsRequest& request, const Invocation& invocation) {
  if (!device.capabilities.traces_kernels)
    return {{}, "CUPTI works only on GPUs, and this device is not one"};
  MeasureOptions options = request.options;
  options.caches = {CacheState::warm};
  options.loads = {Load::burst};
  options.instrument = Instrument::cupti;
  options.placement = 0;
  options.precision = 0.99;
  options.minimum_rounds = request.repetitions;
  try {
    const Result result =
        measure_in_fresh_process(invocation.executable, device.id, {operation, options}, is_interrupted);
    std::vector<Nanoseconds> times;
    for (const Round& round : result.measurements.front().rounds) {
      if (std::ssize(times) < request.repetitions) times.push_back(round.time());
    }
    return {times, ""};
  } catch (const Error& error) {
    return {{}, error.what()};
  }
}

MethodComparison compare_on(Device& device, const Operation& operation, MethodsRequest request,
                            const Invocation& invocation) {
  ProgressLine line(stderr, [&] { return device.host_time(); });
  request.progress = [&](std::int64_t repetition, const std::string& what) {
    Progress progress;
    progress.operation = what;
    line.show(progress,
              {static_cast<std::size_t>(repetition), static_cast<std::size_t>(request.repetitions)});
  };
  const DeviceDescription description = device.describe();
  request.progress(1, "preparing on " + description.name);
  // Runs before this process allocates operands, because the GPU may not have room for both.
  request.traced = traced_times(operation, description, request, invocation);
  Session session(device);
  MethodComparison comparison = compare_methods(session, operation, request);
  line.clear();
  return comparison;
}

ExitCode methods_exit_code(const MethodComparison& comparison) {
  if (comparison.interrupted) return ExitCode::interrupted;
  const bool has_failed = std::ranges::any_of(comparison.readings, [](const MethodReading& reading) {
    return !reading.times.empty() && !reading.absent.empty();
  });
  return has_failed ? ExitCode::failed : ExitCode::done;
}

void compare_all_methods(const MethodsFlags& flags, Invocation& invocation) {
  check_count("--repetitions", flags.repetitions, 1, 1000);
  refuse_file_as_operation(flags.operation);
  const Operation operation = Operation::parse(flags.operation);
  MethodsRequest request;
  request.repetitions = flags.repetitions;
  request.options = flags.measure.options();
  RecordFiles files(flags.record);
  const std::unique_ptr<Device> device = open_device(flags.measure.device, flags.measure.seed);
  MethodsRecord record{.environment = read_environment(invocation.command_line),
                       .device = device->describe(),
                       .comparison = {}};
  check_can_run(operation, record.device);
  if (flags.dry_run) return print_result(methods_plan(operation, record.device, request));
  record.comparison = compare_on(*device, operation, request, invocation);
  invocation.exit_code = methods_exit_code(record.comparison);
  files.write(record);
}

}  // namespace

void add_methods_command(CLI::App& app, Invocation& invocation) {
  const auto [command, flags] = declare_command<MethodsFlags>(
      app, "methods", "time one operation by every method, and show what each gets wrong here",
      kMethodsExamples,
      [&](const MethodsFlags& typed, const CLI::App&) { compare_all_methods(typed, invocation); });
  command.add_option("operation", flags.operation, "the operation (KIND:name=value,…)")->required();
  command.add_option("--device", flags.measure.device, kDeviceHelp)->capture_default_str();
  command.add_option("--repetitions", flags.repetitions, "how often to use each method")
      ->capture_default_str();
  command
      .add_option("--data", flags.measure.data,
                  "values of the operands: normal, uniform, zeros, ones or sparse")
      ->capture_default_str();
  command
      .add_option("--seed", flags.measure.seed,
                  "seed of the operands, the random idles and orders, and a simulated device")
      ->capture_default_str();
  flags.record.add_to(command);
  command.add_flag("--dry-run", flags.dry_run, "print what would be measured and how long it would take");
}

}  // namespace jitterscope::cli
