// Engine. Intervention: the other engines that PyTorch's autotuning tries. Signature: other kernels, other
// cycles. Whether a program meets the effect depends on what its own choice falls on.
#include "explain/factors/factors.hpp"

namespace jitterscope::explain::factors {

Factor engine(const FactorContext& context) {
  Factor factor{.id = "engine",
                .cause = "which engine or algorithm runs it",
                .usual = "the engine named, or PyTorch's choice",
                .remedy = "Name the engine, or let the library choose by timing (jitterscope engines).",
                .shows_in_counters = true};
  factor.note = context.engine_note;
  for (std::size_t i = context.engines.size(); i-- > 1;) {
    const std::string tag = context.engines[i];
    factor.doses.push_back({tag, [tag](Treatment& treatment) { treatment.engine = tag; }});
  }
  if (context.engines.size() < 2) factor.not_available = "there is nothing to choose from";
  return factor;
}

}  // namespace jitterscope::explain::factors
