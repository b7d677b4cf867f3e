// What the flags of `run` say, and what they may say together.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/measure_flags.hpp"
#include "cli/output_flags.hpp"
#include "cli/targets.hpp"
#include "measure/run_record.hpp"
#include "output/output_file.hpp"
#include "output/text.hpp"

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

// Where a run's record goes: a table for people, and the files that were named.

class RunFiles {
 public:
  /// `json`: that of the flags, or the file that is continued. Throws where one cannot be written, before
  /// anything is measured.
  RunFiles(const std::string& json, const RunFlags& flags);

  /// Nothing where there is none, or where it is standard output.
  std::optional<std::string> json_file() const;
  /// The table too, unless one of the files is standard output.
  void write(const RunRecord& record, const Page& page);

 private:
  bool takes_standard_output_;
  std::optional<OutputFile> json_, csv_, csv_launches_;
  ReportFiles report_;
};

}  // namespace jitterscope::cli
