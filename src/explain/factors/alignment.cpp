// Alignment. Intervention: operands begin a number of bytes behind where they usually do. Signature: a step
// in cycles where kernels read narrower words or the library takes another kernel; the clock as it was.
// Confused with: the place in memory, which the other operands have too; it is drawn anew for each block.
#include <fmt/format.h>

#include "explain/factors/factors.hpp"

namespace jitterscope::explain::factors {

Factor alignment(const FactorContext& context) {
  Factor factor{
      .id = "alignment",
      .cause = "how operands are aligned",
      .usual = "operands where they usually begin",
      .remedy = "Keep views and slices at multiples of 256 bytes, or of what the last harmless dose had.",
      .shows_in_counters = true,
      .when_time_is_short = WhenShort::leave_out};
  if (!context.alignment) {
    factor.not_available = context.device.capabilities.is_simulated
                               ? "operands of a simulated GPU have no addresses"
                               : "its operands cannot be moved by bytes";
    return factor;
  }
  for (const std::int64_t bytes : {256, 128, 64, 32, 16, 8, 4, 2}) {
    if (bytes % context.alignment->value() != 0) continue;
    factor.doses.push_back({fmt::format("{} bytes further", bytes),
                            [bytes](Treatment& treatment) { treatment.offset = Bytes(bytes); }});
  }
  if (factor.doses.empty())
    factor.not_available = "its kernels need operands at multiples of more than 256 bytes";
  return factor;
}

}  // namespace jitterscope::explain::factors
