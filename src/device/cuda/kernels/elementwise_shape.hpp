// How the elementwise kernels divide their work.
#pragma once

#include "device/cuda/kernels/host_device.hpp"

namespace jitterscope::cuda {

/// Vectors of each input that a thread reads before it uses the first: four reads in flight with one input
/// and with two.
JITTERSCOPE_HOST_DEVICE constexpr int vectors_in_flight(int inputs) { return inputs < 2 ? 4 : 2; }

}  // namespace jitterscope::cuda
