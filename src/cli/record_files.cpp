#include "cli/record_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <utility>

#include "base/file_text.hpp"
#include "import/read_file.hpp"
#include "import/recognise.hpp"
#include "jitterscope/error.hpp"
#include "record/record.hpp"

namespace jitterscope::cli {
namespace {

// What a packed file holds, as traces are taken packed, too.
std::string unpacked(std::string text, const std::string& file) {
  constexpr std::string_view kGzip = "\x1f\x8b";
  return text.starts_with(kGzip) ? unpack_gzip(text, file).text : std::move(text);
}

bool begins_as_record(const std::string& path) {
  constexpr std::size_t kBeginning = 4096;  // the format stands in the first line
  std::ifstream file(path);
  std::string text(kBeginning, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  return recognise(unpacked(std::move(text), path)) == FileKind::own;
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

void refuse_file_as_operation(const std::string& target) {
  if (!is_file(target)) return;
  throw UsageError(fmt::format(
      "{} is a file, and one operation is wanted, as matmul:m=512,n=512,k=512; `jitterscope run` takes files",
      target));
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
  if (file == "-") return unpacked({std::istreambuf_iterator<char>(std::cin), {}}, "standard input");
  auto [text, problem] = file_text(file);
  if (problem) throw UsageError(fmt::format("'{}' cannot be read: {}", file, problem.message()));
  return unpacked(std::move(text), file);
}

RunRecord read_run_file(const std::string& path) { return read_run_record(read_text(path), path); }

}  // namespace jitterscope::cli
