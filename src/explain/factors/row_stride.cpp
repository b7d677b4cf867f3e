// Leading dimensions. Intervention: something lies behind each row of the matrices of a product. Signature: a
// step in cycles, the clock as it was: rows that begin a power of two apart meet in few sets of a cache and
// few channels of the memory, rows at odd places are read by narrower words, and the library may take another
// kernel. Confused with: operands that are larger, so that fewer of them stay in the cache; alignment; the
// place in memory, which is drawn anew for each block.
#include "explain/factors/factors.hpp"

namespace jitterscope::explain::factors {

Factor row_stride(const FactorContext& context) {
  const auto dose = [](const char* text, RowStride rows) {
    return Dose{text, [rows](Treatment& treatment) { treatment.rows = rows; }};
  };
  Factor factor{
      .id = "row_stride",
      .cause = "how far the rows of the matrices lie apart (leading dimensions)",
      .usual = "rows one behind the other",
      .doses = {dose("8 elements between", {.padding = 8}), dose("64 elements between", {.padding = 64}),
                dose("the next power of two apart", {.power_of_two = true})},
      .remedy = "Give views and slices the leading dimension of the fastest dose, or copy them before.",
      .shows_in_counters = true,
      .when_time_is_short = WhenShort::leave_out};
  if (context.has_row_strides) return factor;
  factor.not_available = context.device.capabilities.is_simulated
                             ? "operands of a simulated GPU have no addresses"
                             : "only a product of matrices by a library that is told of them has leading "
                               "dimensions, and this is none";
  return factor;
}

}  // namespace jitterscope::explain::factors
