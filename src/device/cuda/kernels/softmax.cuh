// What the kernels of softmax share.
#pragma once

#include <type_traits>

#include "device/cuda/kernels/row_group.cuh"

namespace {

// To 2 units + |x|: what __expf does, but without the four instructions by which it keeps results below
// 2^-126, of which nothing is left in a sum that is at least 1.
__device__ __forceinline__ float exponential(float x) {
#ifdef __CUDA_ARCH__
  float result;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x * 1.4426950408889634f));
  return result;
#else
  return expf(x);
#endif
}
__device__ __forceinline__ double exponential(double x) { return exp(x); }
// exponential(x - origin) in two instructions instead of three. What rounding origin * log2(e) loses is the
// same for all elements of a row, and cancels in their quotients.
__device__ __forceinline__ float exponential_around(float x, float origin) {
#ifdef __CUDA_ARCH__
  float result;
  asm("ex2.approx.ftz.f32 %0, %1;"
      : "=f"(result)
      : "f"(fmaf(x, 1.4426950408889634f, origin * -1.4426950408889634f)));
  return result;
#else
  return expf(x - origin);
#endif
}
__device__ __forceinline__ double exponential_around(double x, double origin) { return exp(x - origin); }
__device__ __forceinline__ float logarithm_of(float x) { return logf(x); }
__device__ __forceinline__ double logarithm_of(double x) { return log(x); }

/// The largest of some elements and the sum of their exponentials around it.
template <class C>
struct Exponentials {
  C largest, sum;

  /// What is subtracted before the exponential; of elements that are all -inf the difference would be NaN.
  __device__ static C origin(C largest) { return largest == C(-INFINITY) ? C(0) : largest; }

  /// Joins those of the warps of a block, which does so once: one barrier, where a maximum first and a sum
  /// after it take four.
  template <int Warps>
  __device__ __forceinline__ void join_warps() {
    __shared__ C kept[2][Warps];
    if (threadIdx.x % 32 == 0) {
      kept[0][threadIdx.x / 32] = largest;
      kept[1][threadIdx.x / 32] = sum;
    }
    __syncthreads();
    const C of_warp = kept[0][threadIdx.x % Warps];
    const C part = kept[1][threadIdx.x % Warps];
    largest = reduce_lanes<Warps, Maximum>(of_warp);
    sum = reduce_lanes<Warps, Sum>(part * exponential(of_warp - largest));
  }
};

/// Of a row, or a part of it, in registers.
template <class T, int Group, int Slots>
__device__ __forceinline__ Exponentials<Compute<T>> exponentials_of(const HeldRow<T, Group, Slots>& values,
                                                                    const RowSlots& row, std::uint32_t lane) {
  using C = Compute<T>;
  constexpr int kLanes = Group < 32 ? Group : 32;
  C largest = -INFINITY;
#pragma unroll
  for (int k = 0; k < Slots; ++k) {
    if (!values.has(row, lane, k)) break;
#pragma unroll
    for (int j = 0; j < kPerVector<T>; ++j) largest = Maximum()(largest, values.get(k, j));
  }
  largest = reduce_lanes<kLanes, Maximum>(largest);
  const C origin = Exponentials<C>::origin(largest);
  C sum = 0;
#pragma unroll
  for (int k = 0; k < Slots; ++k) {
    if (!values.has(row, lane, k)) break;
#pragma unroll
    for (int j = 0; j < kPerVector<T>; ++j) sum += exponential_around(values.get(k, j), origin);
  }
  Exponentials<C> result{largest, reduce_lanes<kLanes, Sum>(sum)};
  if constexpr (Group > 32) result.template join_warps<Group / 32>();
  return result;
}

/// What the elements of a row need to know of it.
template <class C>
struct Normalizer {
  C maximum, factor;  ///< 1/sum; for the logarithm log(sum)

  __device__ Normalizer(const Exponentials<C>& row, bool logarithm)
      : maximum(row.largest), factor(logarithm ? logarithm_of(row.sum) : C(1) / row.sum) {}
  __device__ C apply(C x, bool logarithm) const {
    return logarithm ? x - maximum - factor : exponential_around(x, maximum) * factor;
  }
};
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
// One instruction rounds two numbers and puts them side by side.
template <class T>
__device__ __forceinline__ std::uint32_t pair_of(float first, float second) {
  std::uint32_t pair;
  if constexpr (std::is_same_v<T, __half>) {
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(second), "f"(first));
  } else {
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(second), "f"(first));
  }
  return pair;
}
#define JITTERSCOPE_PAIRS 1
#endif
/// As Vector's, which shifts 64 bits where these are halves of registers.
template <class T>
__device__ __forceinline__ Compute<T> element_of(const Vector<T>& x, int j) {
#ifdef JITTERSCOPE_PAIRS
  if constexpr (Number<T>::kShort) {
    const std::uint32_t words[4] = {x.whole.x, x.whole.y, x.whole.z, x.whole.w};
    const std::uint32_t upper = words[j / 2] & 0xffff0000u, lower = words[j / 2] << 16;
    const std::uint32_t bits = j % 2 == 0 ? lower : upper;
    if constexpr (std::is_same_v<T, __half>) {
      return __half2float(__ushort_as_half(static_cast<unsigned short>(bits >> 16)));
    } else {
      return __uint_as_float(bits);
    }
  } else
#endif
  {
    return x.get(j);
  }
}
template <class T>
__device__ __forceinline__ Vector<T> normalized(const Vector<T>& x, const Normalizer<Compute<T>>& row,
                                                bool logarithm) {
  Vector<T> result;
#ifdef JITTERSCOPE_PAIRS
  if constexpr (Number<T>::kShort) {
    const auto pair = [&](int j) {
      return pair_of<T>(row.apply(element_of(x, j), logarithm), row.apply(element_of(x, j + 1), logarithm));
    };
    result.whole = uint4{pair(0), pair(2), pair(4), pair(6)};
  } else
#endif
  {
#pragma unroll
    for (int j = 0; j < kPerVector<T>; ++j) result.set(j, row.apply(element_of(x, j), logarithm));
  }
  return result;
}

// dx = y (dy - sum(dy y)), and of the logarithm dy - e^y sum(dy).
template <class C>
__device__ __forceinline__ C term(C dy, C y, bool logarithm) {
  return logarithm ? dy : dy * y;
}
template <class C>
__device__ __forceinline__ C gradient(C dy, C y, C sum, bool logarithm) {
  return logarithm ? dy - exponential(y) * sum : y * (dy - sum);
}
template <class T>
__device__ __forceinline__ Compute<T> terms(const Vector<T>& dy, const Vector<T>& y, bool logarithm) {
  Compute<T> sum = 0;
#pragma unroll
  for (int j = 0; j < kPerVector<T>; ++j) sum += term(dy.get(j), y.get(j), logarithm);
  return sum;
}
template <class T>
__device__ __forceinline__ Vector<T> gradients(const Vector<T>& dy, const Vector<T>& y, Compute<T> sum,
                                               bool logarithm) {
  Vector<T> result;
#pragma unroll
  for (int j = 0; j < kPerVector<T>; ++j) result.set(j, gradient(dy.get(j), y.get(j), sum, logarithm));
  return result;
}

}  // namespace
