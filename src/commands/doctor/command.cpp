#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/quantity_text.hpp"
#include "cli/invocation.hpp"
#include "cli/measure_flags.hpp"
#include "cli/output_flags.hpp"
#include "cli/simulation_time.hpp"
#include "commands/doctor/record.hpp"
#include "commands/records.hpp"
#include "measure/machine.hpp"
#include "measure/trials.hpp"
#include "output/output_file.hpp"
#include "output/progress.hpp"

// Carries out `doctor`: checks the machine and measures small operations for a few seconds.

namespace jitterscope::cli {

namespace {

constexpr Nanoseconds kCalibrationTime = seconds(0.5);  // with the proof of eviction
constexpr Nanoseconds kMeasuringTime = seconds(4.2);    // for all operations together

Nanoseconds time_each(const std::vector<Operation>& operations) {
  return kMeasuringTime / static_cast<double>(operations.size());
}

bool has_library(const DeviceDescription& device, std::string_view name) {
  return std::any_of(device.libraries.begin(), device.libraries.end(), [&](const LibraryInfo& library) {
    return library.name == name && library.problem.empty();
  });
}

MeasureOptions noise_floor_options(Nanoseconds time) {
  MeasureOptions options;
  options.caches = {CacheState::warm};
  options.loads = {Load::burst};
  options.minimum_rounds = 1'000'000;  // use all of the time, to see what precision it reaches
  options.time_limit = time;
  options.interrupted = is_interrupted;
  return options;
}

Result measure_one(Session& session, const Operation& operation, const MeasureOptions& options) {
  try {
    return measure_operation(session, operation, options, false);
  } catch (const Error& error) {
    Result result;
    result.subject = operation;
    result.failure = error.what();
    return result;
  }
}

// nullopt where nothing is launched: a host's processor does the work itself.
std::optional<Nanoseconds> least_launch_cost(const std::vector<Result>& results) {
  std::optional<Nanoseconds> least;
  for (const Result& result : results) {
    if (!result.failure.empty() || !(result.launch_cost > Nanoseconds(0))) continue;
    least = std::min(least.value_or(result.launch_cost), result.launch_cost);
  }
  return least;
}

// Returns the operations to measure, each in a burst with a warm cache.
std::vector<Operation> noise_floor_operations(const DeviceDescription& device) {
  std::vector<Operation> operations = {Operation(Spin{.amount = 10'000}), Operation(Copy{.bytes = 4 << 20})};
  if (has_library(device, "cublaslt")) {
    operations.emplace_back(Matmul{.m = 512, .n = 512, .k = 512, .dtype = DataType::bf16});
  }
  return operations;
}

// Measures the operations. If one fails, its result says why. Ctrl-C ends it early.
NoiseFloor measure_noise_floor(Device& device) {
  const Nanoseconds start = device.host_time();
  const DeviceDescription description = device.describe();
  const std::vector<Operation> operations = noise_floor_operations(description);
  ProgressLine line(stderr, [&] { return device.host_time(); });
  PlanPosition position{1, operations.size()};
  MeasureOptions options = noise_floor_options(time_each(operations));
  options.progress = [&](const Progress& progress) { line.show(progress, position); };

  Session session(device);
  NoiseFloor floor;
  floor.calibration = session.calibration();
  for (const Operation& operation : operations) {
    if (is_interrupted()) break;
    floor.results.push_back(measure_one(session, operation, options));
    ++position.number;
  }
  if (!is_interrupted()) floor.cache_proof = prove_cold(session);
  floor.launch_cost = least_launch_cost(floor.results);
  floor.interrupted = is_interrupted();
  floor.duration = device.host_time() - start;
  return floor;
}

std::string noise_floor_plan(const DeviceDescription& device) {
  const std::vector<Operation> operations = noise_floor_operations(device);
  std::string text = fmt::format("The noise floor of {} ({}) would be measured in about {}:\n\n", device.id,
                                 device.name, duration_on(device, kCalibrationTime + kMeasuringTime));
  text += "constants of the instruments, and whether one eviction empties the cache\n";
  for (const Operation& operation : operations) {
    text += fmt::format("{}  (cache warm, load burst, {})\n", operation.text(),
                        duration_text(time_each(operations)));
  }
  return text;
}

struct DoctorFlags {
  RecordFlags record;
  std::string device = "auto";
  std::uint64_t seed = 1;
  bool no_measure = false, dry_run = false;
};

constexpr const char* kDoctorExamples = R"(Examples:
  jitterscope doctor
  jitterscope doctor --no-measure
  jitterscope doctor --device cpu --json doctor.json --html doctor.html
  jitterscope doctor --dry-run
  jitterscope doctor --device virtual:h200

Exit codes: 0 done, whatever was found, 2 usage, 3 the named device is missing, 130 interrupted.)";

void append(std::vector<LibraryInfo>& libraries, const std::vector<LibraryInfo>& more) {
  for (const LibraryInfo& library : more) {
    const auto is_same = [&](const LibraryInfo& known) { return known.name == library.name; };
    // The plug-in for PyTorch serves the CPU and the GPU.
    if (std::none_of(libraries.begin(), libraries.end(), is_same)) libraries.push_back(library);
  }
}

void look_at_machine(const DoctorFlags& flags, Invocation& invocation) {
  RecordFiles files(flags.record);
  std::unique_ptr<Device> device;
  std::optional<MissingError> missing;
  try {
    device = open_device(flags.device, flags.seed);
  } catch (const MissingError& error) {
    missing = error;
  }
  if (device && flags.dry_run) return print_result(noise_floor_plan(device->describe()));
  const std::unique_ptr<Device> cpu = open_device("cpu");
  DoctorReport report{.environment = read_environment(invocation.command_line),
                      .device = device ? device->describe() : DeviceDescription(),
                      .libraries = cpu->describe().libraries,
                      .sections = {},
                      .noise_floor = {}};
  MachineChecks machine{.devices = list_devices(), .device_checks = {}, .host_checks = cpu->check()};
  if (device && !report.device.capabilities.is_host) {
    append(report.libraries, report.device.libraries);
    machine.device_checks = device->check();
  }
  if (device && !flags.no_measure) {
    report.noise_floor = measure_noise_floor(*device);
    report.interrupted = report.noise_floor->interrupted;
    if (report.interrupted) invocation.exit_code = ExitCode::interrupted;
  }
  report.sections = doctor_sections(report, machine);
  files.write(report);
  if (missing) throw MissingError(*missing);  // only now: the findings printed above help to fix it
}

}  // namespace

void add_doctor_command(CLI::App& app, Invocation& invocation) {
  const auto [command, flags] = declare_command<DoctorFlags>(
      app, "doctor", "check what this machine allows and what limits precision here, with remedies",
      kDoctorExamples,
      [&](const DoctorFlags& typed, const CLI::App&) { look_at_machine(typed, invocation); });
  command.add_option("--device", flags.device, kDeviceHelp)->capture_default_str();
  command.add_option("--seed", flags.seed, "seed of a simulated device")->capture_default_str();
  flags.record.add_to(command, "write the report as JSON to PATH or - (stdout)");
  command.add_flag("--no-measure", flags.no_measure, "do not measure the noise floor, which takes about 5 s");
  command.add_flag("--dry-run", flags.dry_run, "print what would be measured and how long it would take");
}

}  // namespace jitterscope::cli
