// Records kept under names: what a gate compares with, and what a plot draws.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "measure/run_record.hpp"

namespace jitterscope {

/// A record in the folder. It may be damaged: only its name was read.
struct HistoryEntry {
  std::string name;  ///< of its history
  std::string id;    ///< when it was measured, and what sets it apart: 20261123T201105Z-3f9c2a1b
  std::filesystem::path file;

  std::string text() const { return name + "/" + id; }
};

/// FOLDER/NAME/ID.json, a record of `run` in each: folders are merged by copying one into the other. Nothing
/// but these files is kept, so that none can be wrong about another.
class History {
 public:
  explicit History(std::filesystem::path folder) : folder_(std::move(folder)) {}

  const std::filesystem::path& folder() const { return folder_; }

  /// Names that have a record, in order. None where the folder is not there. Throws UsageError where it
  /// cannot be read.
  std::vector<std::string> names() const;
  /// All of a name, the oldest first. Throws UsageError where there is none, with the nearest name or those
  /// that there are, and for a text that can be no name.
  std::vector<HistoryEntry> entries(const std::string& name) const;
  /// Of NAME the newest, of NAME/ID that one; the beginning of an ID will do where it is the only one. Throws
  /// UsageError as entries().
  HistoryEntry find(const std::string& text) const;

  /// Throws UsageError where no record can be added under this name: before it is measured. Makes the folder.
  void check_can_add(const std::string& name) const;
  /// Writes the record whole or not at all. The same record twice is one. Throws UsageError, FailedError.
  HistoryEntry add(const std::string& name, const RunRecord& record) const;
  /// And the name's folder, where that was the last. Throws FailedError.
  void remove(const HistoryEntry& entry) const;

 private:
  std::vector<HistoryEntry> read(const std::string& name) const;

  std::filesystem::path folder_;
};

/// Throws UsageError with a name near by: one is a folder's, on every system.
void check_history_name(std::string_view name);

/// Throws UsageError, which says how to remove it, where the record is damaged or of a newer version.
RunRecord read_entry(const HistoryEntry& entry);

/// The nearest .jitterscope/ from `start` upwards; where there is none, that of `start`.
std::filesystem::path history_folder(const std::filesystem::path& start);

}  // namespace jitterscope
