#include "cli/history_flags.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <utility>

#include "output/display_text.hpp"

namespace jitterscope::cli {
namespace {

// Why the record can be no baseline; empty where it can.
std::string problem_of(const RunRecord& record, ExitCode exit_code) {
  if (record.interrupted) return "it was interrupted";
  if (exit_code == ExitCode::check_failed) return "a result is wrong";
  const auto has_time = [](const RunEntry& entry) { return !entry.result.measurements.empty(); };
  return std::ranges::any_of(record.entries, has_time) ? "" : "nothing was timed";
}

}  // namespace

void HistoryFlags::add_to(CLI::App& command) {
  command
      .add_option(
          "--history", folder,
          "folder of the records (default: the nearest .jitterscope/ from here upwards, else a new one "
          "here)")
      ->type_name("DIR");
}

History HistoryFlags::history() const {
  if (!folder.empty()) return History(folder);
  // Shown as it is typed from here.
  const std::filesystem::path here = std::filesystem::current_path();
  return History(history_folder(here).lexically_proximate(here));
}

RecordToSave::RecordToSave(std::string name, const HistoryFlags& flags)
    : name_(std::move(name)), history_(flags.history()) {
  history_.check_can_add(name_);
}

void RecordToSave::save(const RunRecord& record, ExitCode exit_code) const {
  if (const std::string problem = problem_of(record, exit_code); !problem.empty()) {
    fmt::print(stderr, "jitterscope: not saved as {}: {}\n", name_, problem);
    return;
  }
  const HistoryEntry entry = history_.add(name_, record);
  fmt::print(stderr, "jitterscope: saved as {} in {}\n", entry.text(), one_line(history_.folder().string()));
}

}  // namespace jitterscope::cli
