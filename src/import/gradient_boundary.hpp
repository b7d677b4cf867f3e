// Where the weight's gradient begins among the kernels of aten::convolution_backward.
#pragma once

#include <optional>

#include "import/profiler_events.hpp"

namespace jitterscope {

/// PyTorch computes the input's gradient, then allocates the weight's and computes that: the allocation is an
/// event of its own, of the weight's shape. Nothing where there is none.
std::optional<RecordTime> weight_gradient_begin(const ProfilerEvents& events, std::size_t convolution);

}  // namespace jitterscope
