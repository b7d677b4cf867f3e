// Defines the flags of `run` and checks which may be combined.
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

/// The flags as typed.
struct RunFlags {
  std::vector<std::string> targets;
  MeasureFlags measure;
  PageFlags page;
  ReportFlags report;
  std::string json, csv, csv_launches, provider = "auto", only, unfinished, counters, save, execution_trace;
  HistoryFlags history;
  std::vector<std::int64_t> iterations;
  bool verify = false, dry_run = false, no_ceilings = false, kernels = false;
  bool same_data = false, fresh_data = false, in_sequence = false;
  std::optional<std::int64_t> placement;
  std::optional<std::int64_t> processes;
  std::optional<std::int64_t> local;
};

/// Returns --processes; for a baseline by default as many as a gate uses, so that its verdict is sharp.
std::int64_t process_count(const RunFlags& flags);

/// Throws UsageError if two flags cannot be combined.
void check_combinations(const RunFlags& flags);

/// Throws UsageError if a flag does not go with several devices, or only one is here. Between ranks, which
/// time one collective together, there is one record, so that what is made of a record goes with them.
void check_several_devices(const RunFlags& flags, const std::vector<std::string>& devices,
                           bool are_between_ranks);

/// Throws UsageError if the devices are no GPUs of one model, or one is named twice.
void check_are_alike(const std::vector<std::string>& devices);

/// Returns the options of the measurement. Throws UsageError for a flag's invalid value.
MeasureOptions options_for(const RunFlags& flags, const WorkList& work);

// Below: output of a run's record: a table for people, and the named files.

class RunFiles {
 public:
  /// `json` is the path of the flags, or the file that is continued. Throws before anything is measured if a
  /// file cannot be written.
  RunFiles(const std::string& json, const RunFlags& flags);

  /// Returns nullopt if there is none, or if it is standard output.
  std::optional<std::string> json_file() const;
  /// Writes the files, and the table unless a file is standard output.
  void write(const RunRecord& record, const Page& page);

 private:
  bool takes_standard_output_;
  ReportFiles report_;
  std::optional<OutputFile> json_, csv_, csv_launches_;
};

}  // namespace jitterscope::cli
