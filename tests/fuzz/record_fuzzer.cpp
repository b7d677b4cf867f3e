// Any file is a run's record, which is written as it was read, or a UsageError.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "jitterscope/error.hpp"
#include "record/record.hpp"

using namespace jitterscope;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  RunRecord record;
  try {
    record = read_run_record({reinterpret_cast<const char*>(data), size}, "fuzz.json");
  } catch (const UsageError&) {
    return 0;
  }
  const std::string text = write_record(record);
  if (write_record(read_run_record(text, "written.json")) != text) std::abort();
  return 0;
}
