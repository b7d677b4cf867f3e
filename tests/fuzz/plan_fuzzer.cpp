// Any text is a plan, which is written and read again the same, or a UsageError; and no text but a written
// error is one.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "jitterscope/error.hpp"
#include "worker/worker_plan.hpp"

using namespace jitterscope;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    const WorkerPlan plan = read_plan(text);
    if (plan.plan.groups.empty() || plan.plan.groups.front().empty()) std::abort();
    const std::string written = write_plan(plan);
    if (write_plan(read_plan(written)) != written) std::abort();
  } catch (const UsageError&) {
  }
  try {
    rethrow_written_error(text);
  } catch (const Error&) {
  }
  return 0;
}
