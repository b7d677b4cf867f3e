// The allocator. Intervention: memory of the outputs' size is taken before each launch and given back behind
// it, from the driver or from a pool. Signature: the driver waits for the device when memory is given back,
// so that the queue runs empty; a pool costs host time alone. Confused with: a wait behind each launch, a
// slower host.
#include "explain/factors/factors.hpp"

namespace jitterscope::explain::factors {

Factor allocator(const FactorContext& context) {
  Factor factor{
      .id = "allocator",
      .cause = "memory that is taken and given back around each launch",
      .usual = "memory taken once, before the loop",
      .doses = {{"from the driver", [](Treatment& treatment) { treatment.allocator = MemorySource::driver; }},
                {"from a pool", [](Treatment& treatment) { treatment.allocator = MemorySource::pool; }}},
      .remedy = "Allocate before the loop, or from a pool in stream order (cudaMallocAsync).",
      .when_time_is_short = WhenShort::leave_out};
  if (context.is_callable) {
    factor.not_available = "a function allocates what it needs itself";
  } else if (!context.device.capabilities.allocates_memory) {
    factor.not_available =
        context.device.capabilities.is_simulated
            ? "a simulated GPU has no allocator"
            : "this device's memory is the program's own, and costs when it is first touched";
  }
  return factor;
}

}  // namespace jitterscope::explain::factors
