#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>

#include "cli/commands.hpp"
#include "cli/measure_flags.hpp"
#include "cli/noise_floor.hpp"
#include "cli/report_files.hpp"
#include "measure/environment.hpp"
#include "output/doctor_table.hpp"
#include "output/output_file.hpp"
#include "output/standard_output.hpp"
#include "record/record.hpp"

namespace jitterscope::cli {
namespace {

struct DoctorFlags {
  ReportFlags report;
  std::string device = "auto", json;
  std::uint64_t seed = 1;
  bool no_measure = false, dry_run = false;
};

constexpr const char* kDoctorExamples = R"(Examples:
  jitterscope doctor
  jitterscope doctor --no-measure
  jitterscope doctor --device cpu --json doctor.json --html doctor.html
  jitterscope doctor --dry-run
  jitterscope doctor --device virtual:h200

Exit codes: 0 done, whatever was found; 2 usage; 3 the device asked for is missing; 130 interrupted.)";

void append(std::vector<LibraryInfo>& libraries, const std::vector<LibraryInfo>& more) {
  for (const LibraryInfo& library : more) {
    const auto is_same = [&](const LibraryInfo& known) { return known.name == library.name; };
    // The plug-in for PyTorch serves the CPU and the GPU.
    if (std::none_of(libraries.begin(), libraries.end(), is_same)) libraries.push_back(library);
  }
}

class DoctorCommand {
 public:
  DoctorCommand(const DoctorFlags& flags, Invocation& invocation) : flags_(flags), invocation_(invocation) {}

  void run() {
    if (!flags_.json.empty()) json_.emplace(flags_.json);
    report_files_.emplace(flags_.report);
    std::unique_ptr<Device> device;
    std::optional<MissingError> missing;
    try {
      device = open_device(flags_.device, flags_.seed);
    } catch (const MissingError& error) {
      missing = error;
    }
    if (device && flags_.dry_run) {
      print_result(noise_floor_plan(device->describe()));
      return;
    }
    look_at_host();
    if (device) look_at(*device);
    print();
    if (missing) throw MissingError(*missing);  // what is here has been said, and helps to mend it
  }

 private:
  void look_at_host() {
    const std::unique_ptr<Device> cpu = open_device("cpu");
    report_.environment = read_environment(invocation_.command_line);
    machine_.devices = list_devices();
    report_.libraries = cpu->describe().libraries;
    machine_.host_checks = cpu->check();
  }

  void look_at(Device& device) {
    report_.device = device.describe();
    if (!report_.device.capabilities.is_host) {
      append(report_.libraries, report_.device.libraries);
      machine_.device_checks = device.check();
    }
    if (flags_.no_measure) return;
    report_.noise_floor = measure_noise_floor(device);
    report_.interrupted = report_.noise_floor->interrupted;
    if (report_.interrupted) invocation_.exit_code = ExitCode::interrupted;
  }

  void print() {
    report_.sections = doctor_sections(report_, machine_);
    if (flags_.json != "-") print_result(doctor_text(report_, page_width()));
    if (json_) json_->commit(write_record(report_));
    report_files_->write(report_);
  }

  const DoctorFlags& flags_;
  Invocation& invocation_;
  DoctorReport report_;
  MachineChecks machine_;
  std::optional<OutputFile> json_;
  std::optional<ReportFiles> report_files_;
};

}  // namespace

void add_doctor_command(CLI::App& app, Invocation& invocation) {
  auto flags = std::make_shared<DoctorFlags>();
  CLI::App* command =
      app.add_subcommand("doctor", "what this machine allows, what limits precision here, and the remedies");
  command->add_option("--device", flags->device, kDeviceHelp)->capture_default_str();
  command->add_option("--seed", flags->seed, "of a simulated device")->capture_default_str();
  command->add_option("--json", flags->json, "write the report as JSON to PATH or - (stdout)");
  flags->report.add_to(*command);
  command->add_flag("--no-measure", flags->no_measure, "leave out the noise floor, which takes about 5 s");
  command->add_flag("--dry-run", flags->dry_run, "print what would be measured and how long it takes");
  command->footer(kDoctorExamples);
  command->callback([flags, &invocation] { DoctorCommand(*flags, invocation).run(); });
}

}  // namespace jitterscope::cli
