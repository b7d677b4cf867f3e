// What the kernels of layer normalization share.
#pragma once

#include "device/cuda/kernels/row_group.cuh"

namespace {

constexpr double kEpsilon = 1e-5;

__device__ __forceinline__ float inverse_root(float x) { return rsqrtf(x); }
__device__ __forceinline__ double inverse_root(double x) { return 1.0 / sqrt(x); }

template <class T>
struct Forward {
  T* y;
  Compute<T>*mean, *deviation;
  const T *x, *weight, *bias;
};

/// The mean of a row and 1 over the square root of its variance.
template <class C>
struct Moments {
  C mean, deviation;

  template <class T>
  __device__ void store(const Forward<T>& tensors, std::uint64_t row) const {
    tensors.mean[row] = mean;
    tensors.deviation[row] = deviation;
  }
  __device__ C standardized(C x) const { return (x - mean) * deviation; }
  /// Of numbers of 16 bits, which are too coarse for the difference to matter: one instruction less.
  __device__ C standardized_short(C x) const { return x * deviation - mean * deviation; }
  template <class T>
  __device__ C standardized_of(C x) const {
    return Number<T>::kShort ? standardized_short(x) : standardized(x);
  }
  __device__ C apply(C x, C weight, C bias) const { return standardized(x) * weight + bias; }
  template <class T>
  __device__ __forceinline__ Vector<T> normalized(const Vector<T>& x, const Vector<T>& weight,
                                                  const Vector<T>& bias) const {
    Vector<T> result;
#pragma unroll
    for (int j = 0; j < kPerVector<T>; ++j) result.set(j, apply(x.get(j), weight.get(j), bias.get(j)));
    return result;
  }
};

/// Some elements' sum, their squares around their own mean, and how many they are. Parts join exactly (Chan,
/// Golub and LeVeque, 1979), so that a block needs one barrier and not one for the mean before that of the
/// variance, and nothing cancels where the mean is large.
template <class C>
struct Spread {
  C sum, squares, count;

  /// Joins those of the warps of a block, which does so once.
  template <int Warps>
  __device__ __forceinline__ void join_warps() {
    __shared__ C kept[3][Warps];
    if (threadIdx.x % 32 == 0) {
      kept[0][threadIdx.x / 32] = sum;
      kept[1][threadIdx.x / 32] = squares;
      kept[2][threadIdx.x / 32] = count;
    }
    __syncthreads();
    const C of_warp = kept[0][threadIdx.x % Warps];
    const C elements = kept[2][threadIdx.x % Warps];
    sum = reduce_lanes<Warps, Sum>(of_warp);
    count = reduce_lanes<Warps, Sum>(elements);
    const C away = elements > C(0) ? of_warp / elements - sum / count : C(0);
    squares = reduce_lanes<Warps, Sum>(kept[1][threadIdx.x % Warps] + elements * away * away);
  }
  __device__ Moments<C> moments() const {
    return {sum / count, inverse_root(Maximum()(squares / count, C(0)) + C(kEpsilon))};
  }
};

}  // namespace
