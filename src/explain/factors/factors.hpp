// One file for each factor; here is what they have in common.
#pragma once

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

}  // namespace jitterscope::explain::factors
