// What the flags of `run` say, and what they may say together.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/history_flags.hpp"
#include "cli/measure_flags.hpp"
#include "cli/page_flags.hpp"
#include "cli/report_files.hpp"
#include "cli/work_list.hpp"

namespace jitterscope::cli {

/// As typed.
struct RunFlags {
  std::vector<std::string> targets;
  MeasureFlags measure;
  PageFlags page;
  ReportFlags report;
  std::string json, csv, csv_launches, provider = "auto", only, unfinished, counters, save;
  HistoryFlags history;
  std::vector<std::int64_t> iterations;
  bool verify = false, dry_run = false, no_ceilings = false, kernels = false;
  bool same_data = false, fresh_data = false, in_sequence = false;
  std::optional<std::int64_t> placement;
  std::optional<std::int64_t> processes;
};

/// As many as were asked for; of a baseline as many as a gate compares with, so that its verdict is sharp.
std::int64_t process_count(const RunFlags& flags);

/// A file, or standard output.
bool is_stdout(const std::string& path);

/// Throws UsageError where two flags make no sense together.
void check_combinations(const RunFlags& flags);

/// How the work is to be measured. Throws UsageError for a flag's value that is none.
MeasureOptions options_for(const RunFlags& flags, const WorkList& work);

}  // namespace jitterscope::cli
