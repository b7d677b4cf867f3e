// Any file is a record, which is written as it was read, and printed, or a UsageError. Of the commands those
// whose tables take numbers of a list's elements from the file: run, compare with study and gate, advise.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "commands/advise/record.hpp"
#include "commands/records.hpp"
#include "jitterscope/error.hpp"
#include "output/comparison_table.hpp"
#include "record/describe_run.hpp"
#include "record/envelope.hpp"

using namespace jitterscope;

namespace {

void print(const ComparisonRecord& record, const Page& page) { comparison_table(record, page); }
void print(const study::AdviceRecord& record, const Page& page) { advice_table(record, page); }

template <class Record>
void read_and_print(const std::string& command, const Json& document) {
  const auto record = read_envelope<Record>(document, "fuzz.json");
  const std::string text = write_envelope(command, record);
  if (write_envelope(command, read_envelope<Record>(Json::parse(text), "written.json")) != text) std::abort();
  print(record, {});
  print(record, {.width = 60, .details = true, .top = 1});
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
    if (command == "compare") read_and_print<ComparisonRecord>(command, document);
    if (command == "advise") read_and_print<study::AdviceRecord>(command, document);
  } catch (const UsageError&) {
  }
  return 0;
}
