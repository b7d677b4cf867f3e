#include "cli/run_flags.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/names.hpp"
#include "cli/command_line.hpp"
#include "commands/records.hpp"
#include "commands/run/files.hpp"
#include "commands/run/table.hpp"
#include "device/open_device.hpp"
#include "jitterscope/error.hpp"
#include "measure/schedule.hpp"
#include "output/output_file.hpp"

namespace jitterscope::cli {
namespace {

std::vector<std::int64_t> checked_iterations(const std::vector<std::int64_t>& counts) {
  for (const std::int64_t count : counts) {
    if (count < 1 || count > kMostIterations) {
      throw UsageError(
          fmt::format("--iterations must be counts from 1 to {}, as in 1,10,100,1000", kMostIterations));
    }
  }
  return counts;
}

// Between passes the queue is empty while the host reads the trace: that is no sustained load.
void require_burst(const MeasureOptions& options) {
  if (std::ranges::find(options.loads, Load::burst) != options.loads.end()) return;
  throw UsageError(
      "--in-sequence runs a network in short passes with idle between them, never under sustained load; "
      "write --load burst, or --load burst,sustained to time its layers alone under both");
}

}  // namespace

std::int64_t process_count(const RunFlags& flags) {
  return flags.processes.value_or(flags.save.empty() ? 1 : gate_processes(names_host(flags.measure.device)));
}

void check_combinations(const RunFlags& flags) {
  takes_standard_output("--json, --csv and --csv-launches", {flags.json, flags.csv, flags.csv_launches});
  if (!flags.save.empty() && (flags.in_sequence || !flags.unfinished.empty())) {
    throw UsageError(fmt::format(
        "--save does not go with {}: a baseline is measured as a whole, each operation alone, by fresh "
        "processes; leave one of them out",
        flags.in_sequence ? "--in-sequence" : "--continue"));
  }
  if (process_count(flags) > 1 && !flags.unfinished.empty()) {
    throw UsageError(
        "--continue does not go with --processes: interrupted processes are measured again from the "
        "start; leave one of them out");
  }
  if (process_count(flags) > 1 && flags.in_sequence) {
    throw UsageError(
        "--processes does not go with --in-sequence: only this process times calls in sequence; leave "
        "one of them out");
  }
  if (!flags.execution_trace.empty() && (!flags.in_sequence || flags.targets.size() != 1)) {
    throw UsageError(
        "--execution-trace says what the calls of one trace read in sequence: name one trace, and add "
        "--in-sequence");
  }
  if (!flags.execution_trace.empty() && !flags.unfinished.empty()) {
    throw UsageError(
        "--execution-trace does not go with --continue: a record does not say which calls were joined; leave "
        "--continue out");
  }
  if (!flags.fresh_data) return;
  if (flags.in_sequence) {
    throw UsageError(
        "--fresh-data does not go with --in-sequence: in a network each call reads what another one "
        "wrote; leave one of them out");
  }
  if (flags.measure.queue == "graph" || flags.measure.instrument == "graph") {
    throw UsageError(
        "--fresh-data does not go with graph: a recording launches on the same operands each time; "
        "choose another --queue or --instrument");
  }
}

void check_several_devices(const RunFlags& flags, const std::vector<std::string>& devices,
                           bool are_between_ranks) {
  if (devices.size() < 2) {
    throw UsageError(
        fmt::format("--device {}: there is one GPU here, {}, and nothing to compare it with; name it",
                    flags.measure.device, devices.front()));
  }
  const auto refuse = [](const std::vector<std::pair<const char*, bool>>& flags_of_one, const char* why) {
    for (const auto& [flag, is_given] : flags_of_one) {
      if (is_given) throw UsageError(fmt::format("{} does not go with {}", flag, why));
    }
  };
  refuse({{"--continue", !flags.unfinished.empty()},
          {"--iterations", !flags.iterations.empty()},
          {"--kernels", flags.kernels},
          {"--counters", !flags.counters.empty()},
          {"--in-sequence", flags.in_sequence},
          {"--lock-clocks", !flags.measure.lock_clocks.empty()}},
         "several devices, each of which has a process of its own; leave it out, or name one device");
  if (are_between_ranks) return;
  refuse({{"--csv", !flags.csv.empty()},
          {"--csv-launches", !flags.csv_launches.empty()},
          {"--save", !flags.save.empty()},
          {"--verify", flags.verify}},
         "several devices, which are timed beside each other; leave it out, or name one device");
}

void check_are_alike(const std::vector<std::string>& devices) {
  std::vector<DeviceListing> gpus;
  for (const std::string& name : devices) {
    const std::string all = joined(devices, " ");
    if (names_host(name)) {
      throw UsageError(fmt::format(
          "--device '{}': GPUs are timed beside each other, and {} is this host's one CPU; name GPUs, as "
          "'cuda:0 cuda:1', or {} alone",
          all, name, name));
    }
    DeviceListing gpu = listing_of(name);
    for (std::size_t i = 0; i < gpus.size(); ++i) {
      if (gpus[i].id == gpu.id && !names_virtual_device(name)) {
        throw UsageError(fmt::format(
            "--device '{}': {} and {} are one GPU, which cannot be timed beside itself; name each once", all,
            devices[i], name));
      }
      // Opening it says why it cannot be used.
      if (gpus[i].name == gpu.name || !gpus[i].problem.empty() || !gpu.problem.empty()) continue;
      throw UsageError(fmt::format(
          "--device '{}': {} is {} and {} is {}: the times of unlike GPUs say nothing of each other; name "
          "those of one kind",
          all, devices[i], one_line(gpus[i].name), name, one_line(gpu.name)));
    }
    gpus.push_back(std::move(gpu));
  }
}

// Sustained loads take many seconds, for a whole model minutes, and heat the chip for later measurements.
// They run only if requested; for one operation, a probe of 0.5 s says whether they should be.
MeasureOptions options_for(const RunFlags& flags, const WorkList& work) {
  MeasureOptions options = flags.measure.options(process_count(flags));
  if (flags.measure.loads.empty()) {
    options.loads = {Load::burst};
    options.load_probe = work.model.layers.size() == 1 && !flags.in_sequence;
  }
  if (flags.in_sequence) require_burst(options);
  options.kernels = flags.kernels;
  options.counters = asked_counters(flags.counters);
  options.fresh_data = flags.fresh_data;
  options.iterations = checked_iterations(flags.iterations);
  // The comparison shows which cache state a layer meets in its network.
  if (flags.in_sequence && flags.measure.caches.empty()) {
    options.caches = {CacheState::warm, CacheState::cold, CacheState::dirty, CacheState::produced};
  }
  return options;
}

RunFiles::RunFiles(const std::string& json, const RunFlags& flags)
    : takes_standard_output_(
          takes_standard_output("--json, --csv and --csv-launches", {json, flags.csv, flags.csv_launches})),
      report_(flags.report),
      json_(output_file(json)),
      csv_(output_file(flags.csv)),
      csv_launches_(output_file(flags.csv_launches)) {}

std::optional<std::string> RunFiles::json_file() const {
  return json_ && !json_->is_stream() ? std::optional(json_->target()) : std::nullopt;
}

void RunFiles::write(const RunRecord& record, const Page& page) {
  if (!takes_standard_output_) print_result(run_table(record, page));
  if (json_) json_->commit(write_record(record));
  if (csv_) csv_->commit(run_summary_csv(record));
  if (csv_launches_) csv_launches_->commit(launches_csv(record));
  report_.write(record);
}

}  // namespace jitterscope::cli
