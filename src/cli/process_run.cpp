#include "cli/process_run.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <utility>

#include "base/host_time.hpp"
#include "cli/commands.hpp"
#include "cli/interruption.hpp"
#include "experiment/processes.hpp"
#include "output/progress.hpp"
#include "worker/fresh_processes.hpp"

namespace jitterscope::cli {
namespace {

// What the processes found of what this one knows the names of.
void take(const Plan& plan, std::vector<RunRecord> processes, RunRecord& record) {
  RunRecord found = combine_processes(std::move(processes));
  record.calibration = found.calibration;
  record.ceilings = std::move(found.ceilings);
  record.findings = std::move(found.findings);
  record.interrupted = found.interrupted;
  record.notes.insert(record.notes.end(), found.notes.begin(), found.notes.end());
  for (std::size_t i = 0; i < found.entries.size(); ++i) {
    RunEntry entry = plan.entries[i];
    entry.result = std::move(found.entries[i].result);
    record.entries.push_back(std::move(entry));
  }
}

}  // namespace

void note_processes(std::size_t count, const std::vector<std::string>& lost, RunRecord& record) {
  if (count > 1) {
    record.notes.push_back(fmt::format(
        "Each time is the mean over {} fresh processes, and its interval holds what the next ones read.",
        count));
  }
  for (const std::string& reason : lost) record.notes.push_back("Lost: " + reason + '.');
}

void measure_in_processes(const Plan& plan, std::int64_t processes, const Invocation& invocation,
                          RunRecord& record) {
  ProgressLine line(stderr, host_time_now);
  const auto count = static_cast<std::size_t>(processes);
  ProcessRecords found =
      run_in_fresh_processes(record.device.id, plan,
                             {.executable = invocation.executable,
                              .count = processes,
                              .interrupted = is_interrupted,
                              .progress = [&](const std::string& stage, std::size_t process) {
                                line.show(stage, {process, count});
                              }});
  line.clear();
  const std::size_t done = found.records.size();
  if (done > 0) take(plan, std::move(found.records), record);
  if (done == 1 && processes > 1)
    record.notes.emplace_back("One process gave a record: the times are its own.");
  note_processes(done, found.lost, record);
  record.interrupted = record.interrupted || found.interrupted;
}

}  // namespace jitterscope::cli
