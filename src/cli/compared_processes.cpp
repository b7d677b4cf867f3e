#include "cli/compared_processes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "base/host_time.hpp"
#include "base/names.hpp"
#include "base/quantity_text.hpp"
#include "cli/commands.hpp"
#include "cli/interruption.hpp"
#include "output/progress.hpp"
#include "worker/fresh_processes.hpp"

namespace jitterscope::cli {

std::string comparison_plan_text(const ComparedWork& work, const ComparisonRecord& record) {
  std::string text;
  for (std::size_t i = 0; i < record.alternatives.size(); ++i) {
    text += fmt::format("{}{}\n", i == 0 ? "first:   " : "against: ", record.alternatives[i]);
  }
  const MeasureOptions& options = shared_options(work.plan);
  const double least = to_seconds(options.longest_idle + options.shortest_idle) / 2.0 *
                       static_cast<double>(options.minimum_rounds);
  const double most = to_seconds(options.time_limit) * static_cast<double>(record.alternatives.size());
  const auto items = static_cast<double>(work.items.items.size());
  const auto processes = static_cast<double>(record.processes_asked);
  return text + fmt::format("{} fresh {} on {}, {} to compare; {} to {} and the start of each process.\n",
                            record.processes_asked, record.processes_asked == 1 ? "process" : "processes",
                            record.device.name, counted(std::ssize(work.items.items), "item"),
                            duration_text(seconds(least * items * processes)),
                            duration_text(seconds(most * items * processes)));
}

std::vector<Nanoseconds> compare_in_processes(const ComparedWork& work, const Invocation& invocation,
                                              ComparisonRecord& record, std::optional<Nanoseconds> budget) {
  ProgressLine line(stderr, host_time_now);
  const auto count = static_cast<std::size_t>(record.processes_asked);
  const FreshProcesses processes{.executable = invocation.executable,
                                 .count = record.processes_asked,
                                 .interrupted = is_interrupted,
                                 .progress =
                                     [&](const std::string& stage, std::size_t process) {
                                       line.show(stage, {process, count});
                                     },
                                 .budget = budget};
  ProcessRecords found = run_in_fresh_processes(record.device.id, work.plan, processes);
  line.clear();
  record.interrupted = found.interrupted;
  // The first process verifies and counts: what it could not.
  for (const RunRecord& process : found.records) {
    for (const std::string& note : process.notes) add_once(record.notes, note);
    for (const RunEntry& entry : process.entries) {
      const auto& shortfall = entry.result.without_counters;
      if (shortfall) add_once(record.notes, "What memory moves is not counted: " + shortfall->reason);
    }
  }
  record.lost_processes = std::move(found.lost);
  compare_processes(work.items, found.records, record);
  return std::move(found.durations);
}

}  // namespace jitterscope::cli
