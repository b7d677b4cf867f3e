#include "record/run_file.hpp"

#include <fmt/format.h>

#include "base/names.hpp"
#include "record/describe_run.hpp"
#include "record/envelope.hpp"

namespace jitterscope {

std::string write_record(const RunRecord& record) { return write_envelope(kRunCommand, record); }

void read_fields(const Json& document, const std::string& name, RunRecord& record) {
  record = read_envelope<RunRecord>(document, name);
}

RunRecord read_run_record(std::string_view text, const std::string& name_for_messages) {
  if (is_journal(text)) return read_journal(text, name_for_messages);
  const auto [document, command] = open_record(text, name_for_messages);
  if (command == kRunCommand) return read_envelope<RunRecord>(document, name_for_messages);
  throw UsageError(fmt::format(
      "{0}: `jitterscope {1}` wrote this, but a record of `jitterscope run` is needed; `jitterscope show "
      "{0}` prints it",
      name_for_messages, command));
}

namespace {

std::string line_of(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + '\n';
}

std::string_view first_line(std::string_view text) { return text.substr(0, text.find('\n')); }

std::string value_text(const Json& object, const std::string& key) {
  return object.contains(key) ? object.at(key).dump() : "not given";
}

// Compares two objects with the same description. A key that only one of them has was given only there.
void compare(const Json& before, const Json& now, std::vector<std::string>& found) {
  const auto compare_key = [&](const std::string& key) {
    const std::string first = value_text(before, key), second = value_text(now, key);
    if (first != second) found.push_back(fmt::format("{} was {} and is {}", key, first, second));
  };
  for (const auto& [key, value] : before.items()) {
    if (!value.is_object()) compare_key(key);
  }
  for (const auto& [key, value] : now.items()) {
    if (!value.is_object() && !before.contains(key)) compare_key(key);
  }
}

}  // namespace

std::string journal_head(const RunRecord& record) {
  RunRecord head = record;
  head.entries.clear();
  head.sequence.reset();
  head.interrupted = true;
  return line_of(envelope_json(kJournalFormat, kRunCommand, head));
}

std::string journal_line(const RunEntry& entry) { return line_of(write_value(entry)); }

bool is_journal(std::string_view text) {
  const Json head = Json::parse(first_line(text), nullptr, false);
  return head.is_object() && head.contains("format") && head.at("format") == kJournalFormat;
}

RunRecord read_journal(std::string_view text, const std::string& name) {
  const Json head = parse_document(first_line(text), name);
  check_version(head, name);
  RunRecord record = read_envelope<RunRecord>(head, name);
  record.interrupted = true;
  std::size_t begin = first_line(text).size() + 1;
  for (int number = 2; begin < text.size(); ++number) {
    const std::size_t end = text.find('\n', begin);
    if (end == std::string_view::npos) break;  // cut off while it was written
    const Json line = Json::parse(text.substr(begin, end - begin), nullptr, false);
    const std::string place = fmt::format("{}, line {}", name, number);
    if (line.is_discarded())
      throw UsageError(place + ": this is not JSON; the file was changed or is damaged");
    record.entries.push_back(read_value<RunEntry>(line, place));
    begin = end + 1;
  }
  return record;
}

std::string differences(const RunAsked& before, const RunAsked& now) {
  const Json first = write_value(before), second = write_value(now);
  std::vector<std::string> found;
  compare(first, second, found);
  compare(first.at("options"), second.at("options"), found);
  return joined(found, "; ");
}

}  // namespace jitterscope
