#include "cli/continued_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/file_text.hpp"
#include "base/names.hpp"
#include "output/run_journal.hpp"
#include "record/journal.hpp"
#include "record/record.hpp"

namespace jitterscope::cli {
namespace {

bool is_unfinished(const RunEntry& entry, const MeasureOptions& options) {
  const Result& result = entry.result;
  if (!result.failure.empty()) return false;
  return result.measurements.size() < options.caches.size() * options.loads.size() ||
         std::ranges::any_of(result.measurements, [](const Measurement& measurement) {
           return measurement.stop_reason == StopReason::interrupted;
         });
}

// Operations are measured some at once, and an interruption leaves all of them unfinished; before it, the
// device may have gone, and all that came then failed.
void keep_finished(std::vector<RunEntry>& entries, const MeasureOptions& options) {
  const auto unfinished =
      std::ranges::find_if(entries, [&](const RunEntry& entry) { return is_unfinished(entry, options); });
  entries.erase(unfinished, entries.end());
  while (!entries.empty() && !entries.back().result.failure.empty()) entries.pop_back();
}

void check_device(const DeviceDescription& before, const DeviceDescription& now, const std::string& file) {
  if (before.id == now.id && before.name == now.name && before.uuid == now.uuid) return;
  const auto text = [](const DeviceDescription& device) {
    return fmt::format("{} ({}{}{})", device.name, device.id, device.uuid.empty() ? "" : ", ", device.uuid);
  };
  throw UsageError(fmt::format("--continue {}: that run was on {}, and this is {}; name the same device",
                               file, text(before), text(now)));
}

void check_operations(const std::vector<RunEntry>& entries, const WorkList& work, const std::string& file) {
  const std::vector<Layer>& layers = work.model.layers;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const std::string before = to_string(entries[i].result.subject);
    const std::string now = i < layers.size() ? layers[i].operation.text() : "missing";
    if (before == now && entries[i].layers == layers[i].names) continue;
    throw UsageError(
        fmt::format("--continue {}: operation {} of that run is {}, and here it is {}; name the "
                    "same targets, or leave --continue out",
                    file, i + 1, before, now));
  }
}

}  // namespace

std::string file_to_continue(const std::string& named) {
  const std::string end = journal_path("");
  return named.ends_with(end) ? named.substr(0, named.size() - end.size()) : named;
}

RunRecord read_unfinished(const std::string& file) {
  const std::string part = journal_path(file);
  const std::string& name = std::filesystem::exists(part) ? part : file;
  const auto [text, problem] = file_text(name);
  if (problem) {
    throw UsageError(fmt::format(
        "--continue: neither '{}' nor '{}' can be read; name the file that the interrupted run was to write "
        "by --json",
        part, file));
  }
  return read_run_record(text, name);
}

void take_over(RunRecord before, const std::string& file, const WorkList& work, RunRecord& record) {
  if (!before.asked) {
    throw UsageError(
        fmt::format("--continue {}: the file does not say what was asked for, as an earlier version "
                    "of jitterscope wrote it; measure anew",
                    file));
  }
  const auto is_of_processes = [](const RunEntry& entry) {
    return std::ranges::any_of(entry.result.measurements,
                               [](const Measurement& each) { return !each.processes.empty(); });
  };
  if (std::ranges::any_of(before.entries, is_of_processes)) {
    throw UsageError(fmt::format(
        "--continue {}: several processes measured that run, and what they did not finish is measured anew; "
        "leave --continue out",
        file));
  }
  const std::string differing = differences(*before.asked, *record.asked);
  if (!differing.empty()) {
    throw UsageError(
        fmt::format("--continue {}: that run was asked for something else: {}; give the same "
                    "targets and flags, or leave --continue out",
                    file, differing));
  }
  check_device(before.device, record.device, file);
  keep_finished(before.entries, record.asked->options);
  check_operations(before.entries, work, file);
  for (const std::string& note : before.notes) add_once(record.notes, note);
  record.ceilings = before.ceilings;
  record.entries = std::move(before.entries);
  if (!before.interrupted) record.sequence = std::move(before.sequence);
  if (record.entries.empty()) return;
  record.notes.push_back(fmt::format("The first {} of {} operations are those of an earlier run, of {}.",
                                     record.entries.size(), work.model.layers.size(),
                                     before.environment.time));
}

}  // namespace jitterscope::cli
