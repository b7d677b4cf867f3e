// What an operand's elements hold, on every device that draws them on the host.
#pragma once

#include "base/random.hpp"
#include "jitterscope/device.hpp"

namespace jitterscope {

/// One element, not yet rounded to its data type.
double draw_value(DataKind kind, Random& random);

/// What each value drawn for an operand is multiplied with: sqrt(2 / fan_in) for a weight where weights are
/// scaled. A sum over fan_in products of an activation behind a ReLU, whose mean square is half that before
/// it, then is as large as what went in (He et al., 2015, arXiv 1502.01852).
double scale_of(const Operand& operand, const InputData& data);

}  // namespace jitterscope
