// One file for each factor; here is what they have in common.
#pragma once

#include <optional>

#include "explain/factor.hpp"

namespace jitterscope::explain::factors {

Factor idle(const FactorContext& context);
Factor load(const FactorContext& context);
Factor cache(const FactorContext& context);
Factor traffic(const FactorContext& context);
Factor queue(const FactorContext& context);
Factor host_delay(const FactorContext& context);
Factor synchronization(const FactorContext& context);
Factor launches(const FactorContext& context);
Factor data(const FactorContext& context);
Factor engine(const FactorContext& context);
Factor instrument(const FactorContext& context);
Factor host_scheduling(const FactorContext& context);
Factor allocator(const FactorContext& context);
Factor alignment(const FactorContext& context);
Factor row_stride(const FactorContext& context);
Factor heap(const FactorContext& context);
Factor contention_kernels(const FactorContext& context);
Factor contention_memory(const FactorContext& context);
Factor contention_link(const FactorContext& context);
Factor neighbour_kernels(const FactorContext& context);
Factor neighbour_memory(const FactorContext& context);
Factor neighbour_link(const FactorContext& context);

/// With work beside the loop for 25, 50 and 100 % of the time, on another queue or in another process:
/// `beside` is where a treatment has it. Tried last, since both leave the process changed.
Factor with_work_beside(Factor factor, CompanionWork work, std::optional<Companion> Treatment::*beside);

}  // namespace jitterscope::explain::factors
