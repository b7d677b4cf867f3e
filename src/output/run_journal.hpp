// The journal of a run beside the file that is to hold its record: what is saved is what is new.
#pragma once

#include <cstddef>
#include <string>

#include "measure/run_record.hpp"

namespace jitterscope {

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
