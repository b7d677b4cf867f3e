// Accesses of 16 bytes, the widest that a thread has, and functions that work on a tensor or a row by such
// accesses.
#pragma once

#include "device/cuda/kernels/number.cuh"
#include "device/cuda/kernels/reduce.cuh"
#include "device/cuda/kernels/shapes.hpp"

namespace {

template <class T>
constexpr int kPerVector = static_cast<int>(16 / sizeof(T));

template <class T, int N>
struct alignas(sizeof(T) * N) Pack {
  T part[N];

  __device__ static Pack load(const T* from) { return *reinterpret_cast<const Pack*>(from); }
  __device__ void store(T* to) const { *reinterpret_cast<Pack*>(to) = *this; }
  __device__ Compute<T> get(int i) const { return Number<T>::load(part[i]); }
  __device__ void set(int i, Compute<T> value) { part[i] = Number<T>::store(value); }
};

/// Number of elements taken at once, as a type.
template <int N>
struct Width {
  static constexpr int value = N;
};

/// Calls visit(width, first) for the elements of a vector; for single ones if the vector is incomplete.
template <class T, class Visit>
__device__ __forceinline__ void for_elements_of(std::uint64_t vector, std::uint64_t count, Visit visit) {
  const std::uint64_t first = vector * kPerVector<T>;
  if (first + kPerVector<T> <= count) {
    visit(Width<kPerVector<T>>(), first);
  } else {
    for (std::uint64_t i = first; i < count; ++i) visit(Width<1>(), i);
  }
}

/// The same, with one vector for each thread.
template <class T, class Visit>
__device__ __forceinline__ void for_own_elements(std::uint64_t count, Visit visit) {
  for_elements_of<T>(first_index(), count, visit);
}

/// Calls visit(width, column) for the thread's columns of a row that its block shares: in vectors if every
/// row begins at one.
template <class T, class Visit>
__device__ __forceinline__ void for_own_columns(std::uint64_t columns, Visit visit) {
  const bool whole = columns % kPerVector<T> == 0;
  const std::uint64_t items = whole ? columns / kPerVector<T> : columns;
  for (std::uint64_t i = threadIdx.x; i < items; i += blockDim.x) {
    if (whole) {
      visit(Width<kPerVector<T>>(), i * kPerVector<T>);
    } else {
      visit(Width<1>(), i);
    }
  }
}

/// out[at + j] = function(at + j, element j of each input). The inputs have been read before the first use.
template <class Out, int N, class Function, class... In>
__device__ __forceinline__ void map_packs(Out* out, std::uint64_t at, Function function,
                                          const Pack<In, N>&... inputs) {
  Pack<Out, N> result;
#pragma unroll
  for (int j = 0; j < N; ++j) result.set(j, function(at + j, inputs.get(j)...));
  result.store(out + at);
}
/// out[i] = function(i, each input's element i), computed in Compute<T>.
template <class Out, class Function, class... In>
__device__ __forceinline__ void map_elements(Out* out, std::uint64_t count, Function function,
                                             const In*... inputs) {
  for_own_elements<Out>(count, [&](auto width, std::uint64_t at) {
    constexpr int N = decltype(width)::value;
    map_packs<Out, N>(out, at, function, Pack<In, N>::load(inputs + at)...);
  });
}
/// The same for the columns of a row.
template <class Out, class Function, class... In>
__device__ __forceinline__ void map_columns(Out* out, std::uint64_t columns, Function function,
                                            const In*... inputs) {
  for_own_columns<Out>(columns, [&](auto width, std::uint64_t at) {
    constexpr int N = decltype(width)::value;
    map_packs<Out, N>(out, at, function, Pack<In, N>::load(inputs + at)...);
  });
}

template <class Join, int N, class C, class Function, class... In>
__device__ __forceinline__ void join_packs(C& value, Function function, const Pack<In, N>&... inputs) {
#pragma unroll
  for (int j = 0; j < N; ++j) value = Join()(value, function(inputs.get(j)...));
}
/// Returns the sum or maximum of function(each input's element) over a row. `value` is the initial value.
template <class Join, class C, class Function, class T, class... In>
__device__ __forceinline__ C reduce_columns(C value, std::uint64_t columns, Function function, const T* input,
                                            const In*... inputs) {
  for_own_columns<T>(columns, [&](auto width, std::uint64_t at) {
    constexpr int N = decltype(width)::value;
    join_packs<Join, N>(value, function, Pack<T, N>::load(input + at), Pack<In, N>::load(inputs + at)...);
  });
  return reduce_block<Join>(value);
}

}  // namespace
