// How many kernels of a launch ran at once, by their traced times.
#pragma once

#include <optional>
#include <vector>

#include "jitterscope/measurement.hpp"
#include "measure/traced_launches.hpp"

namespace jitterscope {

/// Of one launch, in whatever order its kernels are. Nothing where none of them took any time.
std::optional<KernelConcurrency> concurrency_of(const KernelsOfLaunch& kernels);

/// Of several launches of the same work, each on its own: kernels of two launches never count together. The
/// median of each value; nothing where no launch has a kernel that took time.
std::optional<KernelConcurrency> median_concurrency(const std::vector<KernelsOfLaunch>& launches);

}  // namespace jitterscope
