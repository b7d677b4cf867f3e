// Defines the flags for printed output, pages, plots and histories.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "commands/records.hpp"
#include "history/history.hpp"
#include "jitterscope/error.hpp"
#include "output/output_file.hpp"

namespace jitterscope::cli {

struct PageFlags {
  std::string top, findings;  ///< empty: the default
  bool details = false;

  void add_to(CLI::App& command);
  /// Throws UsageError with the nearest known word.
  ShownPage shown() const;
  Page page(bool is_model) const { return page_of(shown(), is_model); }
};

// Below: files that a command writes.

/// Opens a file for a flag's value; empty: none.
std::optional<OutputFile> output_file(const std::string& path);

/// Returns whether one of the paths is standard output. Throws UsageError, which begins with the flags'
/// names, if two are: they would mix.
bool takes_standard_output(const char* flags, const std::vector<std::string>& paths);

// Below: a record as a page and a picture: --html and --plot of every measuring command.

struct ReportFlags {
  std::string html, plot;

  void add_to(CLI::App& command);
};

class ReportFiles {
 public:
  /// Throws before anything is measured if a file cannot be written or drawn.
  explicit ReportFiles(const ReportFlags& flags);
  void write(const AnyRecord& record) { write({&record, 1}); }
  /// Writes one page with all records, and the picture of the first.
  void write(std::span<const AnyRecord> records);

 private:
  std::optional<OutputFile> html_, plot_;
  std::string plot_name_, python_, vega_;
};

/// The files of a command that only draws: a page (--output) and the picture of its first section (--plot).
struct DrawingFlags {
  std::string output, plot;

  void add_to(CLI::App& command, const char* output_help, const char* plot_help);
  /// Throws UsageError if neither is named.
  void check() const;
  void write(std::span<const ReportSection> sections) const;
};

/// The files of a record: --json, --html and --plot.
struct RecordFlags : ReportFlags {
  std::string json;

  void add_to(CLI::App& command, const char* json_help = "write everything to PATH or - (stdout)");
};

/// Where a command's record goes: its text to standard output, unless --json or --csv does; --json, --csv,
/// --html and --plot.
class RecordFiles {
 public:
  /// Throws before anything is measured if a file cannot be written or drawn. `csv`: the flag; empty: none.
  explicit RecordFiles(const RecordFlags& flags, const std::string& csv = {});

  template <class Record>
  void write(const Record& record) {
    write_text(record, [] { return ShownPage{.width = page_width()}; });
  }
  template <class Record>
  void write(const Record& record, const PageFlags& page) {
    write_text(record, [&] { return page.shown(); });
  }

 private:
  template <class Record, class Shown>
  void write_text(const Record& record, const Shown& shown) {
    const bool is_taken = (json_ && json_->is_stream()) || (csv_ && csv_->is_stream());
    if (!is_taken) print_result(record_text(record, shown()));
    if (json_) json_->commit(write_record(record));
    if constexpr (requires { summary_csv(record); }) {
      if (csv_) csv_->commit(summary_csv(record));
    }
    report_.write(record);
  }

  std::optional<OutputFile> json_, csv_;
  ReportFiles report_;
};

// Below: folders of histories, and a record to add to one.

/// Number of fresh processes on each side of a gate. Those on a host differ more, and are shorter.
inline constexpr std::int64_t gate_processes(bool is_host) { return is_host ? 16 : 8; }

struct HistoryFlags {
  std::string folder;  ///< empty: the nearest .jitterscope/ upwards

  void add_to(CLI::App& command);
  History history() const;
};

/// Saves a run's record as the baseline of a gate: --save NAME.
class RecordToSave {
 public:
  /// Made before measuring. Throws UsageError if nothing can be saved.
  RecordToSave(std::string name, const HistoryFlags& flags);

  /// Says on stderr where the record was saved, or why it is no baseline: it was interrupted, a result is
  /// wrong, or nothing was timed.
  void save(const RunRecord& record, ExitCode exit_code) const;

 private:
  std::string name_;
  History history_;
};

}  // namespace jitterscope::cli
