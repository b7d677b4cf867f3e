// The scenes that the simulated proofs share.
#pragma once

#include <string>

#include "selftest/simulated_run.hpp"

namespace jitterscope::selftest {

/// fp16 NHWC convolution 3×3 64→64, 56², N 256: 128 µs on an H200, compute and memory alike.
Operation long_convolution();
/// bf16 GEMM 8192³: 1.4 ms, held by the power limits.
Operation large_product();
/// bf16 GEMM 512³: 3.3 µs, timed by slopes.
Operation small_product();
/// 1 GiB within the device: 0.5 ms, memory alone.
Operation large_copy();

MeasureOptions one_load(Load load);

/// A preset as one process sees it: without what differs between processes and between allocations, which no
/// interval of one process can hold.
physics::Parameters one_process(const std::string& preset);

}  // namespace jitterscope::selftest
