// The flags by which `run` says how much of what it found is printed.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include <CLI/CLI.hpp>

#include "commands/records.hpp"
#include "history/history.hpp"
#include "jitterscope/error.hpp"
#include "output/output_file.hpp"

namespace jitterscope::cli {

struct PageFlags {
  std::string top, findings;  ///< empty: the usual
  bool details = false;

  void add_to(CLI::App& command);
  /// Throws UsageError with the nearest known word.
  ShownPage shown() const;
  Page page(bool is_model) const { return page_of(shown(), is_model); }
};

// A record as a page and as a picture: --html and --plot of every command that measures.

struct ReportFlags {
  std::string html, plot;

  void add_to(CLI::App& command);
};

class ReportFiles {
 public:
  /// Throws where one cannot be written or drawn, before anything is measured.
  explicit ReportFiles(const ReportFlags& flags);
  void write(const AnyRecord& record) { write({&record, 1}); }
  /// One page of them all; the picture is of the first.
  void write(std::span<const AnyRecord> records);

 private:
  std::optional<OutputFile> html_, plot_;
  std::string plot_name_, python_, vega_;
};

// Where histories lie, and a record that goes into one.

/// Fresh processes on each side of a gate, as of `compare`.
inline constexpr std::int64_t kGateProcesses = 8;

struct HistoryFlags {
  std::string folder;  ///< empty: the nearest .jitterscope/ upwards

  void add_to(CLI::App& command);
  History history() const;
};

/// --save NAME: what a run found, as the baseline of a gate.
class RecordToSave {
 public:
  /// Before anything is measured. Throws UsageError where it cannot be saved.
  RecordToSave(std::string name, const HistoryFlags& flags);

  /// Says on stderr where it went, or why it is no baseline: it was interrupted, a result is wrong, nothing
  /// has a time.
  void save(const RunRecord& record, ExitCode exit_code) const;

 private:
  std::string name_;
  History history_;
};

}  // namespace jitterscope::cli
