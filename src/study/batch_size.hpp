// The number of samples that a launch takes.
#pragma once

#include "jitterscope/operation.hpp"

namespace jitterscope::study {

/// Null where that is none of its parameters: a product of weights, a step of an optimizer.
std::int64_t* batch_of(Operation::Parameters& parameters);

bool has_batch(const Operation&);
/// As one launch of so many times the samples; it has a batch.
Operation with_larger_batch(const Operation&, std::int64_t factor);

}  // namespace jitterscope::study
