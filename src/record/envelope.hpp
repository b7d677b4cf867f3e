// Reads and writes the fields that every record begins with, whichever command wrote it.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "record/describe_measurement.hpp"
#include "record/values.hpp"

namespace jitterscope {

inline constexpr std::string_view kRecordFormat = "jitterscope-record";
/// The format that the first line of a journal names.
inline constexpr std::string_view kJournalFormat = "jitterscope-journal";
/// Raised if a reader of the last version could misread a new file.
inline constexpr std::int64_t kRecordVersion = 2;

/// Returns the record's flag that the user ended the command early, wherever the record type keeps it.
auto& interrupted_of(auto& record) {
  if constexpr (requires { record.comparison; }) {
    return record.comparison.interrupted;
  } else if constexpr (requires { record.ranking; }) {
    return record.ranking.interrupted;
  } else {
    return record.interrupted;
  }
}

/// Describes the fields that all records have, then those of describe_content.
template <class Fields, class Record>
void describe_record(Fields& fields, Record& record) {
  fields("interrupted", interrupted_of(record));
  fields("environment", record.environment);
  fields("device", record.device);
  describe_content(fields, record);
}

template <class Record>
Json envelope_json(std::string_view format, std::string_view command, const Record& record) {
  Json document;
  Writer fields(document);
  fields("format", format);
  fields("version", kRecordVersion);
  fields("command", command);
  describe_record(fields, record);
  return document;
}
template <class Record>
std::string write_envelope(std::string_view command, const Record& record) {
  return json_text(envelope_json(kRecordFormat, command, record));
}

/// Throws UsageError if the text is a model, a trace, a log or a page; the message names the command for it.
void refuse_other_files(std::string_view text, const std::string& name);

/// Parses a file's JSON. Throws UsageError, with a remedy, if the text is empty, cut off or no JSON.
Json parse_document(std::string_view text, const std::string& name);

/// Throws UsageError if the document's version is not kRecordVersion.
void check_version(const Json& document, const std::string& name);

/// Returns the command that wrote the record. Throws UsageError for another format or version.
std::string command_of(const Json& document, const std::string& name);

/// A record's file: its JSON, and the command that wrote it.
struct OpenedRecord {
  Json document;
  std::string command;
};
/// Throws UsageError for other files, and as parse_document and command_of do.
OpenedRecord open_record(std::string_view text, const std::string& name);

template <class Record>
Record read_envelope(const Json& document, const std::string& name) {
  Record record;
  const Place place{nullptr, name};
  Reader fields(document, place);
  describe_record(fields, record);
  return record;
}

}  // namespace jitterscope
