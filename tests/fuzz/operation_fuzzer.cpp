// Any text is an operation, a sweep or a UsageError, and what was read is printed and read again the same.
#include <cstddef>
#include <cstdlib>

#include "jitterscope/error.hpp"
#include "jitterscope/operation.hpp"

using namespace jitterscope;

namespace {

void check(const Operation& operation) {
  if (!(Operation::parse(operation.text()) == operation)) std::abort();
  if (!(operation.flops() >= 0.0) || operation.bytes() < Bytes(0)) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    check(Operation::parse(text));
  } catch (const UsageError&) {
  }
  try {
    const std::vector<Operation> operations = parse_sweep(text);
    if (operations.empty() || operations.size() > 10'000) std::abort();
    check(operations.front());
    check(operations.back());
  } catch (const UsageError&) {
  }
  return 0;
}
