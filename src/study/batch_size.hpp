// The number of samples that a launch takes.
#pragma once

#include "jitterscope/operation.hpp"

namespace jitterscope::study {

/// Null where that is none of its parameters: a product of weights, a step of an optimizer.
std::int64_t* batch_of(Operation::Parameters& parameters);

}  // namespace jitterscope::study
