// Input values. Intervention: other values in the same places, each kind with fewer bits that differ from one
// value to the next than the one before: of normal values in f32 13.6, of uniform ones 13.1, of values half
// of which are zeros 12.3 (tests/explain/factors_test.cpp), of zeros none. Signature: power and with it the
// clock move, cycles stay; no effect where the power limit is far, which rests between launches try. Confused
// with: arithmetic that takes a short cut at zeros, which moves cycles and leaves the clock; a memory that
// compresses.
#include "explain/factors/factors.hpp"

namespace jitterscope::explain::factors {

Factor data(const FactorContext& context) {
  const auto dose = [](const char* text, DataKind kind) {
    return Dose{text, [kind](Treatment& treatment) { treatment.data = kind; }};
  };
  Factor factor{.id = "data",
                .cause = "what the operands hold",
                .usual = "normal values",
                .doses = {dose("uniform", DataKind::uniform), dose("sparse", DataKind::sparse),
                          dose("zeros", DataKind::zeros)},
                .doses_grow = true,
                .remedy = "Time with values like the program's.",
                .may_be_power = true};
  if (context.is_callable) {
    factor.not_available = "what a function reads is its own";
  } else if (!context.reads_data) {
    factor.not_available = "the operation reads no data";
  }
  return factor;
}

}  // namespace jitterscope::explain::factors
