#include <fmt/format.h>

#include <string>

#include "operation/kinds.hpp"
#include "operation/limits.hpp"

namespace jitterscope::kinds {
namespace {

Operation::Parameters read_copy(const ParameterReader& reader) {
  Copy copy;
  reader.require("bytes", copy.bytes);
  reader.read("kind", copy.kind);
  reader.read("memory", copy.memory);
  std::string node = "any";
  reader.read("node", node);
  if (node != "any") reader.read("node", copy.node);
  return copy;
}

}  // namespace

std::string_view name(const Copy&) { return "copy"; }

void check(const Copy& copy) {
  check_range("copy", "bytes", copy.bytes, 4, kLargestCount);
  check_range("copy", "node", copy.node, -1, 1023);
  if (copy.kind == CopyKind::d2d && copy.node >= 0)
    throw UsageError("copy: node= is of the host's memory, and kind=d2d copies on the device alone");
  if (copy.bytes % 4 == 0) return;
  throw UsageError(fmt::format(
      "copy: bytes={} is not a multiple of 4; what is copied is checked as f32 elements", copy.bytes));
}

void write(const Copy& copy, ParameterWriter& writer) {
  writer.write("bytes", copy.bytes);
  writer.write("kind", copy.kind);
  writer.write_unless(HostMemory::pinned, "memory", copy.memory);
  writer.write_unless(std::int64_t{-1}, "node", copy.node);
}

double flops(const Copy&) { return 0.0; }

std::vector<Operand> operands(const Copy& copy) {
  const std::int64_t count = copy.bytes / element_size(DataType::f32).value();
  return {{"source", OperandRole::input, DataType::f32, count},
          {"destination", OperandRole::output, DataType::f32, count}};
}

Kind copy() {
  return {
      {"copy",
       "memory to memory, on the device or between host and device",
       "copy:bytes=1Gi,kind=d2d",
       {{"bytes",
         "size, a multiple of 4; as every number with k, M, G, T (powers of 1000) or Ki, Mi, Gi, Ti (of "
         "1024) behind it, and B: 1GiB",
         ""},
        {"kind", "d2d (on the device), h2d (host to device) or d2h (back)", "d2d"},
        {"memory",
         "how the host side is allocated: pinned or pageable; registered (pageable, page-locked later, once), "
         "registered_anew (in each launch), mapped (a kernel copies, over the bus)",
         "pinned"},
        {"node", "NUMA node of the host's memory, or any: where the system places it", "any"}}},
      read_copy};
}

}  // namespace jitterscope::kinds
