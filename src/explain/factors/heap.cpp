// A fragmented heap. Intervention: operands are put together of pages from all over the device's memory, with
// others in use between them, as an allocator does it that finds no free stretch of their size. Signature: a
// step in time with the clock as it was, that grows as the pieces get smaller: more entries of the tables
// that translate addresses, no huge pages on a CPU, other slices of the cache and channels of the memory on a
// GPU. Confused with: the place in memory, which is drawn anew for each block. Operands smaller than a page
// (2 MiB on a GPU, 4 KiB on a CPU) show nothing, nor does a system that gives its pages out at random anyway.
#include <fmt/format.h>

#include "explain/factors/factors.hpp"

namespace jitterscope::explain::factors {

Factor heap(const FactorContext& context) {
  Factor factor{.id = "heap",
                .cause = "a fragmented heap, of whose pieces the operands are made",
                .usual = "each operand in one stretch of memory",
                .doses_grow = true,
                .remedy = "Allocate what is large early and keep it, or take huge pages.",
                .shows_in_counters = true,
                .when_time_is_short = WhenShort::leave_out};
  for (const std::int64_t pages : {16, 4, 1}) {
    factor.doses.push_back(
        {pages == 1 ? std::string("single pages") : fmt::format("pieces of {} pages", pages),
         [pages](Treatment& treatment) { treatment.heap_piece = pages; }});
  }
  // Pages are mapped one by one, again for each block: of a GPU's some 10 us each.
  constexpr Bytes kMost(std::int64_t{4} << 30);
  if (!context.lies_in_pages) {
    factor.not_available = "its operands lie where others put them, or it has none";
  } else if (context.operand_memory > kMost) {
    factor.not_available =
        "to put more than 4 GiB of operands together of pages would take longer than the study";
  }
  return factor;
}

}  // namespace jitterscope::explain::factors
