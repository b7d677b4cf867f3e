// Where histories lie, and a record that goes into one.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>

#include "history/history.hpp"
#include "jitterscope/error.hpp"

namespace jitterscope::cli {

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
