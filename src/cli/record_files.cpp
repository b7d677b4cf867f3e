#include "cli/record_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <utility>

#include "base/file_text.hpp"
#include "jitterscope/error.hpp"
#include "record/record.hpp"

namespace jitterscope::cli {
namespace {

bool begins_as_record(const std::string& path) {
  constexpr std::size_t kBeginning = 200;  // the format stands in the first line
  std::ifstream file(path);
  std::string text(kBeginning, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  return text.find("\"jitterscope-record\"") != std::string::npos ||
         text.find("\"jitterscope-run\"") != std::string::npos;
}

}  // namespace

bool is_file(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(path, ignored);
}

void refuse_missing_files(const std::vector<std::string>& targets) {
  for (const std::string& target : targets) {
    const bool is_named_as_file = target.ends_with(".json") || target.ends_with(".json.gz");
    if (!is_named_as_file || is_file(target)) continue;
    throw UsageError(target + ": there is no such file; check the path and the folder you are in");
  }
}

bool are_records(const std::vector<std::string>& targets) {
  const auto record = std::ranges::find_if(targets, begins_as_record);
  if (record == targets.end()) return false;
  const auto other = std::ranges::find_if_not(targets, is_file);
  if (other == targets.end()) return true;
  throw UsageError(fmt::format(
      "{} is a record, and {} is no file: a record is compared with a record, which `jitterscope run "
      "… --json FILE` writes",
      *record, *other));
}

std::string read_text(const std::string& file) {
  if (file == "-") return {std::istreambuf_iterator<char>(std::cin), {}};
  auto [text, problem] = file_text(file);
  if (problem) throw UsageError(fmt::format("'{}' cannot be read: {}", file, problem.message()));
  return std::move(text);
}

RunRecord read_run_file(const std::string& path) { return read_run_record(read_text(path), path); }

}  // namespace jitterscope::cli
