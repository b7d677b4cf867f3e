// Every launch on a line of its own, for other programs.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "measure/run_record.hpp"

namespace jitterscope {

/// RFC 4180 with a header line. `launch` counts launches, so that it advances by the size of a group where
/// launches were timed in groups; `settled` is 0 for rounds of a sustained load before it settled.
std::string launches_csv(const RunRecord& record);

/// One field; quoted where it holds a comma, a quote or a line break.
std::string csv_quoted(std::string_view field);
/// The shortest digits that read back as the same number; empty where it is not finite.
std::string csv_number(double value);

// A row for each operation in each condition, for spreadsheets and plots.

/// The record's summary as RFC 4180 with a header line: a column for each key that occurs.
std::string run_summary_csv(const RunRecord& record);

// The journal of a run beside the file that is to hold its record: what is saved is what is new.

/// FILE.part, for the record that will be FILE.
std::string journal_path(const std::string& file);

class RunJournal {
 public:
  /// For the record that will be `file`. A journal that is there is replaced at the first save, in one step.
  explicit RunJournal(const std::string& file);
  ~RunJournal();
  RunJournal(const RunJournal&) = delete;
  RunJournal& operator=(const RunJournal&) = delete;

  /// Appends the entries that were not there before. Throws FailedError where that fails.
  void save(const RunRecord& record);
  /// When the record itself is written.
  void remove();

 private:
  void begin(const std::string& text);

  std::string path_;
  int descriptor_ = -1;
  std::size_t saved_ = 0;  ///< entries
};

}  // namespace jitterscope
