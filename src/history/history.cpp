#include "history/history.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <optional>

#include "base/files.hpp"
#include "base/names.hpp"
#include "commands/records.hpp"
#include "jitterscope/error.hpp"
#include "output/output_file.hpp"
#include "output/text.hpp"

namespace jitterscope {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kEnding = ".json";
constexpr std::size_t kLongestName = 100;

bool is_in_name(char letter) {
  return std::isalnum(static_cast<unsigned char>(letter)) != 0 || letter == '.' || letter == '_' ||
         letter == '-';
}

bool is_name(std::string_view text) {
  return !text.empty() && text.size() <= kLongestName && text.front() != '.' && text.front() != '-' &&
         std::ranges::all_of(text, is_in_name);
}

// Returns a valid name like this text: "feature-x" for the git branch "feature/x".
std::string name_near(std::string_view text) {
  std::string name;
  for (const char letter : text) {
    const char kept = is_in_name(letter) ? letter : '-';
    const bool begins = name.empty() && (kept == '.' || kept == '-');
    const bool repeats = !name.empty() && name.back() == '-' && kept == '-';
    if (!begins && !repeats && name.size() < kLongestName) name += kept;
  }
  while (name.ends_with('-')) name.pop_back();
  return name;
}

UsageError cannot_read(const fs::path& folder, const std::error_code& error) {
  return UsageError(
      fmt::format("the history '{}' cannot be read: {}", one_line(folder.string()), error.message()));
}

// Returns the sorted names of the entries of this type in a folder; empty if the folder does not exist.
std::vector<std::string> files_in(const fs::path& folder, fs::file_type type) {
  std::vector<std::string> names;
  std::error_code error;
  if (!fs::exists(folder, error) && !error) return names;
  for (fs::directory_iterator each(folder, error), end; !error && each != end; each.increment(error)) {
    std::error_code vanished;
    if (each->status(vanished).type() == type) names.push_back(each->path().filename().string());
  }
  if (error) throw cannot_read(folder, error);
  std::ranges::sort(names);
  return names;
}

// FNV-1a hash. It tells records of the same second apart; a copy of a record has the same hash.
std::string fingerprint(std::string_view text) {
  std::uint32_t hash = 0x811c9dc5u;
  for (const char byte : text) hash = (hash ^ static_cast<unsigned char>(byte)) * 0x01000193u;
  return fmt::format("{:08x}", hash);
}

// Returns the record's time for a file name: valid on every system, and sorted by time.
std::string moment_of(const RunRecord& record) {
  std::string moment = record.environment.time;
  std::erase_if(moment, [](char letter) { return !is_in_name(letter) || letter == '-'; });
  return moment.empty() ? "undated" : moment;
}

std::string shown(const fs::path& path) { return one_line(path.string()); }

}  // namespace

namespace {

// Throws UsageError if the user gave a file instead of a name: other commands take files.
void refuse_file(const fs::path& folder, const std::string& name, const std::string& given) {
  std::error_code ignored;
  const bool is_name = !name.empty() && fs::is_directory(folder / name, ignored);
  if (is_name || !fs::is_regular_file(given, ignored)) return;
  throw UsageError(fmt::format(
      "{0} is a file, not a NAME of `jitterscope run … --save NAME`; `jitterscope show {0}` prints a "
      "record, and `jitterscope compare {0} OTHER` compares two",
      one_line(given)));
}

}  // namespace

void check_history_name(std::string_view name) {
  if (is_name(name)) return;
  const std::string near = name_near(name);
  throw UsageError(fmt::format(
      "'{}' is not a valid name: use up to {} letters, digits, dots, dashes and underscores, beginning "
      "with a letter, digit or underscore{}",
      one_line(name.substr(0, kLongestName)), kLongestName,
      near.empty() ? std::string() : ", as '" + near + "'"));
}

std::vector<HistoryEntry> History::read(const std::string& name) const {
  std::vector<HistoryEntry> entries;
  for (const std::string& file : files_in(folder_ / name, fs::file_type::regular)) {
    // A file that is being written, or whose process was killed meanwhile, ends in .partial.
    if (!file.ends_with(kEnding)) continue;
    entries.push_back({name, file.substr(0, file.size() - kEnding.size()), folder_ / name / file});
  }
  return entries;
}

std::vector<std::string> History::names() const {
  std::vector<std::string> names = files_in(folder_, fs::file_type::directory);
  std::erase_if(names, [&](const std::string& name) { return !is_name(name) || read(name).empty(); });
  return names;
}

std::vector<HistoryEntry> History::entries(const std::string& name) const {
  refuse_file(folder_, name, name);
  check_history_name(name);
  std::vector<HistoryEntry> entries = read(name);
  if (!entries.empty()) return entries;
  const std::vector<std::string> known = names();
  if (known.empty()) {
    throw UsageError(
        fmt::format("the history '{}' is empty, so it has no '{}'; `jitterscope run … --save {}` makes one",
                    shown(folder_), name, name));
  }
  throw UsageError(
      fmt::format("the history '{}' has no '{}'{}", shown(folder_), name, suggestion(name, known)));
}

HistoryEntry History::find(const std::string& text) const {
  const std::size_t slash = text.find('/');
  const std::string name = text.substr(0, slash);
  refuse_file(folder_, name, text);
  const std::vector<HistoryEntry> all = entries(name);
  if (slash == std::string::npos) return all.back();
  std::string id = text.substr(slash + 1);
  if (id.ends_with(kEnding)) id.resize(id.size() - kEnding.size());
  std::vector<HistoryEntry> found;
  for (const HistoryEntry& entry : all) {
    if (entry.id == id) return entry;
    if (!id.empty() && entry.id.starts_with(id)) found.push_back(entry);
  }
  if (found.size() == 1) return found.front();
  throw UsageError(fmt::format("{} records of '{}' begin with '{}'; `jitterscope history list {}` lists them",
                               found.empty() ? "no" : std::to_string(found.size()), all.front().name,
                               one_line(id), all.front().name));
}

void History::check_can_add(const std::string& name) const {
  check_history_name(name);
  const auto refuse = [&](const std::string& reason) {
    throw UsageError(fmt::format("no record can be saved in '{}': {}; name another folder by --history",
                                 shown(folder_ / name), reason));
  };
  // Tries where the folder would be made: a run that then fails leaves none behind.
  fs::path place = fs::absolute(folder_ / name);
  std::error_code error;
  while (!fs::exists(place, error) && !error && place != place.parent_path()) place = place.parent_path();
  if (error) refuse(error.message());
  if (!fs::is_directory(place, error)) refuse(fmt::format("'{}' is no folder", shown(place)));
  if (::access(place.c_str(), W_OK | X_OK) != 0) refuse(std::strerror(errno));
  try {
    const OutputFile trial(place / ("trial" + std::string(kEnding)));
  } catch (const UsageError& problem) {
    refuse(problem.what());
  }
}

namespace {

// Writes the file, in a folder that is made if it is not there, and is not left behind if writing fails.
void write_in_folder(const fs::path& file, const std::string& text) {
  std::vector<fs::path> made;
  std::error_code ignored;
  for (fs::path place = file.parent_path(); !place.empty() && !fs::exists(place, ignored);
       place = place.parent_path())
    made.push_back(place);
  try {
    std::error_code error;
    fs::create_directories(file.parent_path(), error);
    if (error) {
      throw FailedError(
          fmt::format("the folder '{}' cannot be made: {}", shown(file.parent_path()), error.message()));
    }
    OutputFile(file.string()).commit(text);
  } catch (...) {
    for (const fs::path& place : made) fs::remove(place, ignored);  // stays if another has put something in
    throw;
  }
}

}  // namespace

HistoryEntry History::add(const std::string& name, const RunRecord& record) const {
  check_can_add(name);
  const std::string text = write_record(record);
  const std::string moment = moment_of(record), mark = "-" + fingerprint(text);
  std::vector<HistoryEntry> before = read(name);
  std::erase_if(before, [&](const HistoryEntry& each) { return !each.id.starts_with(moment); });
  const auto same =
      std::ranges::find_if(before, [&](const HistoryEntry& each) { return each.id.ends_with(mark); });
  if (same != before.end()) return *same;
  // Records of the same second sort in the order in which they were added: "Z.1-" comes behind "Z-".
  const std::string id = (before.empty() ? moment : fmt::format("{}.{}", moment, before.size())) + mark;
  HistoryEntry entry{name, id, folder_ / name / (id + std::string(kEnding))};
  write_in_folder(entry.file, text);
  return entry;
}

void History::remove(const HistoryEntry& entry) const {
  std::error_code error;
  fs::remove(entry.file, error);
  if (error) {
    throw FailedError(fmt::format("'{}' cannot be removed: {}", shown(entry.file), error.message()));
  }
  fs::remove(entry.file.parent_path(), error);  // fails, as it should, unless the folder is empty
}

RunRecord read_entry(const HistoryEntry& entry) {
  const auto [text, problem] = file_text(entry.file);
  if (problem) throw UsageError(fmt::format("'{}' cannot be read: {}", shown(entry.file), problem.message()));
  try {
    return read_run_record(text, shown(entry.file));
  } catch (const UsageError& error) {
    throw UsageError(fmt::format("{} (`jitterscope history rm {}` removes it)", error.what(), entry.text()));
  }
}

fs::path history_folder(const fs::path& start) {
  constexpr const char* kFolder = ".jitterscope";
  std::error_code ignored;
  for (fs::path place = start;; place = place.parent_path()) {
    if (fs::is_directory(place / kFolder, ignored)) return place / kFolder;
    if (place == place.parent_path()) return start / kFolder;
  }
}

}  // namespace jitterscope
