// Writes a run as CSV files and as a journal.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "measure/run_record.hpp"
#include "record/json_text.hpp"

namespace jitterscope {

/// Writes RFC 4180 with a header line and a line for each launch. `launch` counts launches: it advances by
/// the group's size if launches were timed in groups. `settled` is 0 before a sustained load settled.
std::string launches_csv(const RunRecord& record);

/// Returns one field, in quotes if it holds a comma, a quote or a line break.
std::string csv_quoted(std::string_view field);
/// Returns the shortest digits that read back as the same number; empty if it is not finite.
std::string csv_number(double value);

// Below: a row for each operation under each condition, for spreadsheets and plots.

/// Writes flat objects as RFC 4180, with a header line and a column for each key; `first` names the only
/// column if there are none.
std::string rows_csv(const Json& rows, std::string_view first);
std::string run_summary_csv(const RunRecord& record);

// Below: the journal, beside the file for the whole record; saving appends only what is new.

/// Returns FILE.part for the record FILE.
std::string journal_path(const std::string& file);

class RunJournal {
 public:
  /// Makes the journal of the record `file`. The first save replaces an existing journal in one step.
  explicit RunJournal(const std::string& file);
  ~RunJournal();
  RunJournal(const RunJournal&) = delete;
  RunJournal& operator=(const RunJournal&) = delete;

  /// Appends the entries that are new. Throws FailedError.
  void save(const RunRecord& record);
  /// For use when the record itself is written.
  void remove();

 private:
  void begin(const std::string& text);

  std::string path_;
  int descriptor_ = -1;
  std::size_t saved_ = 0;  ///< number of entries saved
};

}  // namespace jitterscope
