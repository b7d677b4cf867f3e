// A history keeps records under names: `gate` compares with them, and `history` plots them.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "measure/run_record.hpp"

namespace jitterscope {

/// Names a record in the folder. The record itself was not read and may be damaged.
struct HistoryEntry {
  std::string name;  ///< the history's name
  std::string id;    ///< time of the measurement and a fingerprint of the record: 20261123T201105Z-3f9c2a1b
  std::filesystem::path file;

  std::string text() const { return name + "/" + id; }
};

/// A folder with one file for each record of `run`: FOLDER/NAME/ID.json. Copying one folder into another
/// merges them. There is no index, so nothing can contradict the files.
class History {
 public:
  explicit History(std::filesystem::path folder) : folder_(std::move(folder)) {}

  const std::filesystem::path& folder() const { return folder_; }

  /// Returns the names that have a record, sorted. Empty if the folder does not exist. Throws UsageError if
  /// it cannot be read.
  std::vector<std::string> names() const;
  /// Returns all records of a name, the oldest first. Throws UsageError if there is none (the message
  /// suggests a name) and if the text cannot be a name.
  std::vector<HistoryEntry> entries(const std::string& name) const;
  /// Returns the newest record for NAME, and that record for NAME/ID; a unique beginning of the ID will do.
  /// Throws UsageError like entries().
  HistoryEntry find(const std::string& text) const;

  /// Throws UsageError if no record can be added under this name; for use before measuring. Makes the folder.
  void check_can_add(const std::string& name) const;
  /// Writes all of the record or nothing, and nothing if it is already there. Throws UsageError, FailedError.
  HistoryEntry add(const std::string& name, const RunRecord& record) const;
  /// Removes the record, and the name's folder if it is then empty. Throws FailedError.
  void remove(const HistoryEntry& entry) const;

 private:
  std::vector<HistoryEntry> read(const std::string& name) const;

  std::filesystem::path folder_;
};

/// Throws UsageError, with a suggestion, unless the text can name a folder on every operating system.
void check_history_name(std::string_view name);

/// Throws UsageError, which says how to remove the entry, if the record is damaged or of another version.
RunRecord read_entry(const HistoryEntry& entry);

/// Returns the nearest .jitterscope/ from `start` upwards, or the one in `start` if there is none.
std::filesystem::path history_folder(const std::filesystem::path& start);

}  // namespace jitterscope
