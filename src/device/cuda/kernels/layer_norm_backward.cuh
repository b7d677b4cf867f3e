// What the kernels of layer normalization's backward pass share.
#pragma once

#include "device/cuda/kernels/layer_norm.cuh"

namespace {

template <class T>
struct Backward {
  T* dx;
  const T *dy, *x, *weight;
  const Compute<T>*mean, *deviation;
  Compute<T>*weight_sums, *bias_sums;  ///< blocks x columns
};

/// The two means over a row that every element of dx needs.
template <class C>
struct RowSums {
  C gradient = 0, product = 0;

  __device__ void add(C g, C normalized) {
    gradient += g;
    product += g * normalized;
  }
  template <int Group>
  __device__ void finish(std::uint64_t columns) {
    gradient = reduce_group<Group, Sum>(gradient) / static_cast<C>(columns);
    product = reduce_group<Group, Sum>(product) / static_cast<C>(columns);
  }
  __device__ C input_gradient(C g, C normalized, C deviation) const {
    return deviation * (g - gradient - normalized * product);
  }
  /// As Moments::standardized_of: for 16 bits what does not depend on the element is taken together.
  template <class T>
  __device__ C input_gradient_of(C g, C x, const Moments<C>& moments) const {
    const C d = moments.deviation;
    if constexpr (!Number<T>::kShort) return input_gradient(g, moments.standardized(x), d);
    const C slope = -d * d * product, rest = -d * gradient - slope * moments.mean;
    return g * d + (x * slope + rest);
  }
};

}  // namespace
