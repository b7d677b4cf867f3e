// Shared by batch and layer normalization.
#pragma once

#include "device/cuda/kernels/number.cuh"

namespace {

/// Returns the factor that x - mean is multiplied by.
template <class C>
__device__ __forceinline__ C deviation_of(C variance) {
  return C(1) / sqrt(variance + C(1e-5));
}

}  // namespace
