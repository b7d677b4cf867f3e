// Any file is a record, which is written as it was read, and printed, or a UsageError. Of the commands those
// whose tables take numbers of a list's elements from the file: run, compare with study and gate, advise.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "commands/advise/record.hpp"
#include "commands/compare/record.hpp"
#include "jitterscope/error.hpp"
#include "record/envelope.hpp"
#include "record/run_file.hpp"

using namespace jitterscope;

namespace {

template <class Record>
void read_and_print(const Json& document) {
  Record record, again;
  read_fields(document, "fuzz.json", record);
  const std::string text = write_record(record);
  read_fields(Json::parse(text), "written.json", again);
  if (write_record(again) != text) std::abort();
  record_text(record, {});
  record_text(record, {.width = 60, .details = true, .top = 1});
}

void read_run(std::string_view file) {
  const std::string text = write_record(read_run_record(file, "fuzz.json"));
  if (write_record(read_run_record(text, "written.json")) != text) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view file(reinterpret_cast<const char*>(data), size);
  try {
    read_run(file);
  } catch (const UsageError&) {
  }
  try {
    const Json document = parse_document(file, "fuzz.json");
    const std::string command = command_of(document, "fuzz.json");
    if (command == "compare") read_and_print<ComparisonRecord>(document);
    if (command == "advise") read_and_print<study::AdviceRecord>(document);
  } catch (const UsageError&) {
  }
  return 0;
}
