#include <fmt/format.h>

#include "operation/kinds.hpp"
#include "operation/limits.hpp"

namespace jitterscope::kinds {
namespace {

Operation::Parameters read_allocation(const ParameterReader& reader) {
  Allocation allocation;
  reader.read("pattern", allocation.pattern);
  if (!allocation.pattern.empty()) {
    if (reader.has("bytes") || reader.has("count")) {
      reader.fail("pattern is given beside bytes or count, which it has itself; give one or the other");
    }
  } else if (reader.has("bytes")) {
    reader.read("bytes", allocation.bytes);
    reader.read("count", allocation.count);
  } else {
    reader.fail_missing("bytes (or pattern)");
  }
  reader.read("by", allocation.by);
  reader.read("touch", allocation.touch);
  return allocation;
}

}  // namespace

std::string_view name(const Allocation&) { return "allocation"; }

void check(const Allocation& allocation) {
  constexpr std::int64_t kMostBlocks = 1 << 16;
  if (allocation.pattern.empty()) {
    check_range("allocation", "bytes", allocation.bytes, 1, kLargestCount);
    check_range("allocation", "count", allocation.count, 1, kMostBlocks);
    if (limited_product({allocation.bytes, allocation.count}) > kLargestOperandBytes) {
      throw UsageError("allocation: the blocks together take more than 64 TiB; make them smaller or fewer");
    }
  } else if (allocation.bytes != 0 || allocation.count != 1) {
    throw UsageError("allocation: a pattern has blocks of its own; leave out bytes and count");
  }
  if (allocation.pattern.find_first_of(",=") == std::string::npos) return;
  throw UsageError(
      fmt::format("allocation: the name of the pattern {} has a comma or an equals sign; rename the file",
                  in_quotes(allocation.pattern)));
}

void write(const Allocation& allocation, ParameterWriter& writer) {
  const Allocation usual;
  if (allocation.pattern.empty()) {
    writer.write("bytes", allocation.bytes);
    writer.write_unless(usual.count, "count", allocation.count);
  } else {
    writer.write("pattern", allocation.pattern);
  }
  writer.write("by", allocation.by);
  writer.write_unless(usual.touch, "touch", allocation.touch);
}

double flops(const Allocation&) { return 0.0; }

std::vector<Operand> operands(const Allocation&) { return {}; }

Kind allocation() {
  return {
      {"allocation",
       "memory as a program takes it: allocated, filled, freed in each launch",
       "allocation:bytes=64Mi,count=4,by=cache",
       {{"bytes", "size of a block; as every number with k, M, G, T or Ki, Mi, Gi, Ti behind it", ""},
        {"count", "blocks that are there at once", "1"},
        {"pattern",
         "in place of bytes and count, a file of events, one a line: alloc NAME BYTES, or free NAME; "
         "@sequences is one of sequences of many lengths",
         ""},
        {"by",
         "malloc (cuMemAlloc on a GPU), pool (stream-ordered), pool_kept (that gives nothing back), cache (as "
         "PyTorch's allocator), expandable (that, over one range of addresses) or preallocated",
         "malloc"},
        {"touch", "1 fills each block, 0 leaves it as it is", "1"}}},
      read_allocation};
}

}  // namespace jitterscope::kinds
