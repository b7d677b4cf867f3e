// Input values. Intervention: other values in the same places. Signature: power and with it the clock move,
// cycles stay; no effect where the power limit is far (a low duty).
#include "explain/factors/factors.hpp"

namespace jitterscope::explain::factors {

Factor data(const FactorContext& context) {
  Factor factor{.id = "data",
                .cause = "what the operands hold",
                .usual = "normal values",
                .doses = {{"sparse", [](Treatment& treatment) { treatment.data = DataKind::sparse; }},
                          {"zeros", [](Treatment& treatment) { treatment.data = DataKind::zeros; }}},
                .remedy = "Time with values like the program's."};
  if (std::holds_alternative<Spin>(context.operation.parameters())) {
    factor.not_available = "the operation reads no data";
  }
  return factor;
}

}  // namespace jitterscope::explain::factors
