#include "record/envelope.hpp"

#include <fmt/format.h>

#include <utility>

#include "import/recognise.hpp"
#include "jitterscope/version.hpp"

namespace jitterscope {
namespace {

std::string word_of(const Json& document, const char* key) {
  const auto found = document.find(key);
  return found != document.end() && found->is_string() ? found->get<std::string>() : std::string();
}

std::int64_t version_of(const Json& document) {
  const auto found = document.find("version");
  return found != document.end() && found->is_number_integer() ? found->get<std::int64_t>() : 0;
}

UsageError not_readable(const std::string& name, const std::string& reason) {
  return UsageError(fmt::format("{}: {}", name, reason));
}

}  // namespace

void refuse_other_files(std::string_view text, const std::string& name) {
  const FileKind kind = recognise(text);
  // A record that has lost its beginning looks like a model, because it has layers, too.
  const bool may_be_record =
      kind == FileKind::model && text.find("\"jitterscope-model\"") == std::string_view::npos;
  if (kind == FileKind::unknown || kind == FileKind::own || may_be_record) return;
  throw UsageError(misplaced_file(text, name, "not a record of a measurement"));
}

Json parse_document(std::string_view text, const std::string& name) {
  if (text.find_first_not_of(" \t\r\n") == std::string_view::npos) {
    throw not_readable(name, "this file is empty; was it written, or copied, in full?");
  }
  try {
    return Json::parse(text);
  } catch (const Json::parse_error& error) {
    if (error.byte > text.size()) {
      throw not_readable(name, "the file ends in the middle of a record; copy it again, or write it again");
    }
    throw not_readable(
        name, fmt::format("this is not JSON from byte {} on; name a file that jitterscope wrote by --json",
                          error.byte));
  } catch (const Json::out_of_range&) {
    throw not_readable(name, "a number in it is larger than any that jitterscope writes");
  }
}

void check_version(const Json& document, const std::string& name) {
  const std::int64_t number = version_of(document);
  if (number != kRecordVersion) {
    throw not_readable(
        name,
        fmt::format(
            "this record has version {}, but jitterscope {} reads version {}; use the program that wrote it",
            number, version(), kRecordVersion));
  }
}

std::string command_of(const Json& document, const std::string& name) {
  const std::string format = document.is_object() ? word_of(document, "format") : std::string();
  if (format != kRecordFormat) {
    throw not_readable(
        name, fmt::format("this is not a record of jitterscope{}; name a file that a command wrote by --json",
                          format.empty() ? "" : ", but a '" + format + "'"));
  }
  check_version(document, name);
  return word_of(document, "command");
}

OpenedRecord open_record(std::string_view text, const std::string& name) {
  refuse_other_files(text, name);
  Json document = parse_document(text, name);
  std::string command = command_of(document, name);
  return {std::move(document), std::move(command)};
}

}  // namespace jitterscope
