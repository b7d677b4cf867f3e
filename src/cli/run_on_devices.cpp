#include "cli/run_on_devices.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <optional>

#include "base/host.hpp"
#include "base/names.hpp"
#include "device/open_device.hpp"
#include "group/group.hpp"
#include "output/progress.hpp"
#include "worker/fresh_processes.hpp"
#include "worker/in_step.hpp"

namespace jitterscope::cli {
namespace {

Plan plan_with_seed(const RunRequest& request, std::size_t number) {
  Plan plan = plan_of(request);
  plan.ceilings = false;
  plan.verify = false;
  for (std::vector<Trial>& group : plan.groups) {
    for (Trial& trial : group) {
      trial.options.seed += number;
      trial.options.load_probe = false;
    }
  }
  return plan;
}

class OnDevices {
 public:
  OnDevices(const RunRequest& request, std::vector<std::string> devices, DevicesRecord& record,
            const Invocation& invocation)
      : request_(request),
        devices_(std::move(devices)),
        record_(record),
        executable_(invocation.executable),
        ranks_(invocation.ranks.get()),
        alone_(devices_.size()),
        at_once_(devices_.size()),
        line_(stderr, host_time_now) {
    for (std::size_t i = 0; i < devices_.size(); ++i) {
      places_.push_back(i);
      // Alone a worker is rank 0 of its plan, whichever rank it stands beside.
      if (ranks_ != nullptr) devices_[i] = device_of_rank(devices_[i], i);
    }
  }

  void run() {
    for (process_ = 0; process_ < record_.processes && !is_stopped(); ++process_) {
      // Heat that GPUs leave each other falls on both alike.
      if (process_ % 2 == 0) time_at_once();
      for (std::size_t device = 0; device < devices_.size() && !is_stopped(); ++device) time_alone(device);
      drop_lost();
      if (process_ % 2 == 1) time_at_once();
      if (process_ == 0) check_kinds();
    }
    line_.clear();
    // Processes that not all GPUs have are of no use beside each other.
    std::size_t least = SIZE_MAX;
    for (const std::vector<RunRecord>& each : alone_) least = std::min(least, each.size());
    for (std::vector<RunRecord>& each : alone_) each.resize(least);
    if (is_interrupted() && !alone_.empty()) record_.processes = static_cast<std::int64_t>(least);
    if (!alone_.empty() && !alone_.front().empty()) {
      record_.devices.clear();
      for (const std::vector<RunRecord>& each : alone_) record_.devices.push_back(each.front().device);
      record_.device = record_.devices.front();
    }
  }

  void compare() {
    const auto has_records = [](const std::vector<std::vector<RunRecord>>& all) {
      return all.size() > 1 && std::ranges::none_of(all, [](const auto& each) { return each.empty(); });
    };
    const std::vector<std::vector<RunRecord>> none;
    if (!has_records(alone_) && !has_records(at_once_)) return;
    std::vector<std::int64_t> calls;
    for (const Layer& layer : request_.work.model.layers) calls.push_back(layer.calls());
    record_.comparisons = compare_devices(has_records(alone_) ? alone_ : none,
                                          has_records(at_once_) ? at_once_ : none, record_.margin, calls);
  }

  /// Says what failed of the work itself, on whichever GPU. Returns whether anything did.
  bool add_failures() {
    for (std::size_t device = 0; device < alone_.size(); ++device) {
      for (const RunRecord& record : alone_[device]) {
        for (const RunEntry& entry : record.entries) {
          if (entry.result.failure.empty()) continue;
          add_once(record_.lost, fmt::format("{} on {}: {}", to_string(entry.result.subject), name_of(device),
                                             entry.result.failure));
          failed_ = true;
        }
      }
    }
    return failed_;
  }

 private:
  // Simulated GPUs are other ones in each process. In step, all processes need one plan.
  std::size_t number_of(std::size_t device) const {
    return static_cast<std::size_t>(process_) * alone_.size() + device;
  }

  std::string name_of(std::size_t device) const {
    if (ranks_ == nullptr) return devices_[device];
    return fmt::format("{} of {}", devices_[device], ranks_->name_of(places_[device]));
  }

  // In step with nobody, or as a child of this process that needs no word of it.
  RunRecord run_alone(std::size_t device) {
    const Plan plan = plan_with_seed(request_, number_of(device));
    if (ranks_ == nullptr) {
      ProcessRecords found = run_in_fresh_processes(
          devices_[device], plan, {.executable = executable_, .count = 1, .interrupted = is_interrupted});
      if (found.interrupted || found.records.empty()) throw InterruptedError();
      return std::move(found.records.front());
    }
    const auto start = [&](std::size_t) { return ranks_->start_worker(places_[device]); };
    return std::move(
        run_in_step({{.device = devices_[device], .device_seed = number_of(device), .plan = plan}},
                    {.executable = executable_, .start = start, .interrupted = is_interrupted})
            .front());
  }

  bool is_stopped() const { return is_interrupted() || devices_.size() < 2; }

  void show(const std::string& what) {
    line_.show(fmt::format("{}, process {} of {}", what, process_ + 1, record_.processes),
               {static_cast<std::size_t>(process_) + 1, static_cast<std::size_t>(record_.processes)});
  }

  void time_alone(std::size_t device) {
    show(name_of(device) + " alone");
    try {
      RunRecord found = run_alone(device);
      if (!found.interrupted) alone_[device].push_back(std::move(found));
    } catch (const InterruptedError&) {
    } catch (const FailedError& problem) {
      lost_.push_back(device);
      record_.lost.push_back(fmt::format("{} is left out: {}", name_of(device), problem.what()));
      failed_ = true;
    }
  }

  void time_at_once() {
    if (is_stopped() || at_once_failed_) return;
    show("all at once");
    std::vector<WorkerPlan> plans;
    for (std::size_t device = 0; device < devices_.size(); ++device) {
      plans.push_back({.device = devices_[device],
                       .device_seed = number_of(device),
                       .plan = plan_with_seed(request_, number_of(0))});
    }
    try {
      StartPartner start;
      if (ranks_ != nullptr) start = [&](std::size_t i) { return ranks_->start_worker(places_[i]); };
      std::vector<RunRecord> found = run_in_step(
          std::move(plans), {.executable = executable_, .start = start, .interrupted = is_interrupted});
      if (is_interrupted()) return;
      for (std::size_t device = 0; device < found.size(); ++device)
        at_once_[device].push_back(std::move(found[device]));
    } catch (const InterruptedError&) {
    } catch (const FailedError& problem) {
      at_once_failed_ = failed_ = true;
      record_.lost.push_back(
          fmt::format("all at once: {}; their times alone are as they are", problem.what()));
    }
  }

  void drop_lost() {
    for (auto device = lost_.rbegin(); device != lost_.rend(); ++device) {
      const auto at = static_cast<std::ptrdiff_t>(*device);
      devices_.erase(devices_.begin() + at);
      places_.erase(places_.begin() + at);
      alone_.erase(alone_.begin() + at);
      at_once_.erase(at_once_.begin() + at);
    }
    lost_.clear();
  }

  void check_kinds() const {
    std::vector<std::string> kinds;
    for (const std::vector<RunRecord>& each : alone_) {
      if (!each.empty()) add_once(kinds, each.front().device.name);
    }
    if (kinds.size() < 2) return;
    throw UsageError(fmt::format(
        "--device: these are of several kinds ({}), whose times say nothing of each other; name those of one "
        "kind, as --device 'cuda:0 cuda:1'",
        joined(kinds)));
  }

  const RunRequest& request_;
  std::vector<std::string> devices_;
  DevicesRecord& record_;
  std::string executable_;
  group::Group* ranks_;                                  ///< null: all GPUs are this process's
  std::vector<std::size_t> places_ = {};                 ///< the rank of each device
  std::vector<std::vector<RunRecord>> alone_, at_once_;  // by device, then process
  std::vector<std::size_t> lost_;
  std::int64_t process_ = 0;
  bool at_once_failed_ = false, failed_ = false;
  ProgressLine line_;
};

}  // namespace

void run_on_devices(const RunRequest& request, const std::vector<std::string>& devices, DevicesRecord record,
                    RecordFiles& files, const PageFlags& page, Invocation& invocation) {
  OnDevices on_devices(request, devices, record, invocation);
  on_devices.run();
  on_devices.compare();
  if (on_devices.add_failures()) invocation.exit_code = ExitCode::failed;
  record.interrupted = is_interrupted();
  if (record.interrupted) invocation.exit_code = ExitCode::interrupted;
  files.write(record, page);
}

}  // namespace jitterscope::cli
