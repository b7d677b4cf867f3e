// What every file begins with, whichever command wrote it.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "record/describe_measurement.hpp"
#include "record/values.hpp"

namespace jitterscope {

inline constexpr std::string_view kRecordFormat = "jitterscope-record";
/// Of the first line of a journal.
inline constexpr std::string_view kJournalFormat = "jitterscope-journal";
/// Raised where a reader of the last version could misread a file.
inline constexpr std::int64_t kRecordVersion = 2;

/// Whether the user ended the command early, where each record has it.
auto& interrupted_of(auto& record) {
  if constexpr (requires { record.comparison; }) {
    return record.comparison.interrupted;
  } else if constexpr (requires { record.ranking; }) {
    return record.ranking.interrupted;
  } else {
    return record.interrupted;
  }
}

/// What is the same in all records, then what describe_content has.
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

/// Throws UsageError, with what takes it, for a model, a trace, a log or a page.
void refuse_other_files(std::string_view text, const std::string& name);

/// A file's JSON. Throws UsageError, with what to do, where it is empty, cut off, or no JSON.
Json parse_document(std::string_view text, const std::string& name);

/// Throws UsageError where a version is another one than is read here.
void check_version(const Json& document, const std::string& name);

/// Which command wrote it, its format and version checked. Throws UsageError.
std::string command_of(const Json& document, const std::string& name);

template <class Record>
Record read_envelope(const Json& document, const std::string& name) {
  Record record;
  const Place place{nullptr, name};
  Reader fields(document, place);
  describe_record(fields, record);
  return record;
}

}  // namespace jitterscope
