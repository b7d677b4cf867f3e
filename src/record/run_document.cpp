#include "record/run_document.hpp"

#include <fmt/format.h>

#include "record/describe_run.hpp"
#include "record/envelope.hpp"
#include "record/journal.hpp"
#include "record/record.hpp"

namespace jitterscope {
namespace {

// Version 1 did not say what a device can do; of what tables depend on, the name does.
void fill_in_capabilities(DeviceDescription& device) {
  device.capabilities.is_host = device.id == "cpu";
  device.capabilities.is_simulated = device.id.starts_with("virtual");
}

}  // namespace

std::string write_record(const RunRecord& record) { return write_envelope(kRunCommand, record); }

RunRecord read_run_document(const Json& document, const std::string& name) {
  RunRecord record = read_envelope<RunRecord>(document, name);
  if (document.at("version") == 1) fill_in_capabilities(record.device);
  return record;
}

RunRecord read_run_record(std::string_view text, const std::string& name_for_messages) {
  if (is_journal(text)) return read_journal(text, name_for_messages);
  refuse_other_files(text, name_for_messages);
  const Json document = parse_document(text, name_for_messages);
  const std::string command = command_of(document, name_for_messages);
  if (command == kRunCommand) return read_run_document(document, name_for_messages);
  throw UsageError(fmt::format(
      "{0}: `jitterscope {1}` wrote this, and a record of `jitterscope run` is needed; `jitterscope show {0}` prints it",
      name_for_messages, command));
}

}  // namespace jitterscope
