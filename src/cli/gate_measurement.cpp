#include "cli/gate_measurement.hpp"

#include <fmt/format.h>

#include <memory>

#include "base/names.hpp"
#include "base/quantity_text.hpp"
#include "cli/commands.hpp"
#include "cli/dry_run.hpp"
#include "cli/interruption.hpp"
#include "cli/process_run.hpp"
#include "cli/provider_choice.hpp"
#include "cli/python_subject.hpp"
#include "cli/run_request.hpp"
#include "jitterscope/error.hpp"
#include "measure/environment.hpp"
#include "output/display_text.hpp"

namespace jitterscope::cli {
namespace {

// Without what is asked beside times: a gate judges these alone.
RunAsked asked_again(const RunRecord& baseline, const GateConditions& conditions) {
  RunAsked asked = *baseline.asked;
  asked.verify = false;
  asked.ceilings = false;
  asked.options.kernels = false;
  asked.options.counters.reset();
  asked.options.iterations.clear();
  // The same seed would make of a simulated device the same processes once more, and find no difference.
  asked.options.seed = conditions.seed.value_or(asked.options.seed + 1);
  return asked;
}

std::string device_of(const RunRecord& baseline, const GateConditions& conditions) {
  return conditions.device.empty() ? baseline.device.id : conditions.device;
}

RunRequest request_of(const RunAsked& asked, const DeviceDescription& device, std::int64_t processes) {
  RunRequest request;
  request.processes = processes;
  request.work = read_targets(asked.targets, asked.only);
  request.options = asked.options;
  request.options.interrupted = is_interrupted;
  request.ceilings = false;
  fit_to_device(request.work, device);
  choose_provider(request.work, parse_provider(asked.provider), device, false);
  refuse_impossible(request.work, device);
  return request;
}

RunRecord measure_operations(RunAsked asked, const std::string& device_name, const GateConditions& conditions,
                             const Invocation& invocation) {
  std::unique_ptr<Device> device = open_device(device_name, asked.options.seed);
  RunRecord record;
  record.device = device->describe();
  record.environment = read_environment(invocation.command_line);
  RunRequest request = request_of(asked, record.device, conditions.processes);
  record.title = request.work.title;
  record.untimed = request.work.model.untimed;
  record.recorded_gpu_time = request.work.model.recorded_gpu_time;
  record.notes = request.work.model.notes;
  if (!invocation.settings.empty()) record.notes.push_back(invocation.settings);
  std::unique_ptr<ClockLock> lock;
  if (asked.options.locked_clock) {
    lock = device->lock_clocks(fmt::format("{:.0f}", asked.options.locked_clock->value() / 1e6));
    request.options.locked_clock = asked.options.locked_clock = lock->frequency();
  } else {
    device.reset();  // its memory is the workers' then
  }
  record.asked = std::move(asked);
  measure_in_processes(plan_of(request), conditions.processes, invocation, record);
  return record;
}

}  // namespace

void check_is_baseline(const RunRecord& baseline, const std::string& name_for_messages) {
  if (!baseline.asked || baseline.asked->targets.empty()) {
    throw UsageError(
        fmt::format("{} does not say what was asked for, as an earlier version of jitterscope wrote it; save "
                    "another baseline by `jitterscope run … --save`",
                    name_for_messages));
  }
}

RunRecord measure_again(const RunRecord& baseline, const GateConditions& conditions,
                        const Invocation& invocation) {
  RunAsked asked = asked_again(baseline, conditions);
  const std::string device = device_of(baseline, conditions);
  if (!are_python(asked.targets)) {
    return measure_operations(std::move(asked), device, conditions, invocation);
  }
  asked.options.interrupted = is_interrupted;
  return python_record(asked.targets, device, asked.options, conditions.processes, invocation);
}

std::string gate_plan_text(const RunRecord& baseline, const GateConditions& conditions, std::size_t width) {
  const RunAsked asked = asked_again(baseline, conditions);
  const std::string device_name = device_of(baseline, conditions);
  if (are_python(asked.targets)) {
    return wrapped(
        fmt::format("{} fresh {} of Python on {}: {}.", conditions.processes,
                    conditions.processes == 1 ? "process" : "processes", device_name, joined(asked.targets)),
        width);
  }
  const DeviceDescription device = open_device(device_name, asked.options.seed)->describe();
  return plan_text(request_of(asked, device, conditions.processes), device, width);
}

}  // namespace jitterscope::cli
