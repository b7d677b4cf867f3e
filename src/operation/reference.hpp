// What an operation must give, in float64: the reference that --verify compares with.
#pragma once

#include <cstdint>
#include <vector>

#include "jitterscope/operation.hpp"

namespace jitterscope {

/// Element `index` of the output. `inputs` and `index` follow operands(), each in its dense order: that of
/// its layout, so an nhwc tensor is n,h,w,c and its weight k,r,s,c/groups. Throws UsageError for spin.
double reference_element(const Operation&, const std::vector<std::vector<double>>& inputs,
                         std::int64_t index);

/// Multiply-adds behind one output element, at most: what a call of reference_element costs.
std::int64_t terms_per_element(const Operation&);

/// The output elements that a check looks at, in about 2e8 multiply-adds: all where they can be afforded,
/// else a random sample, the same each time.
std::vector<std::int64_t> reference_sample(const Operation&);

}  // namespace jitterscope
