// A row that one block goes over from end to end.
#pragma once

#include "device/cuda/kernels/vector.cuh"

namespace {

/// The 16-byte vectors that are the row's alone, from a multiple of `Line` of them on, and the fewer elements
/// before and after them, of which each of the block's first threads takes one. So no read of a vector
/// depends on where the row begins, and many can be under way.
template <class T, int Threads, int Line = 1>
struct LongRow {
  static constexpr std::uint32_t V = kPerVector<T>;
  static_assert(Threads >= (Line + 1) * V);
  std::uint64_t begin;  ///< of the first whole vector, counted in the matrix
  std::uint32_t vectors;
  std::uint64_t edge;  ///< the thread's element beside them, counted likewise
  bool has_edge;

  __device__ LongRow(std::uint64_t row, std::uint64_t columns) {
    const std::uint64_t from = row * columns, to = from + columns;
    begin = (from + Line * V - 1) / (Line * V) * (Line * V);
    const std::uint64_t end = to / V * V;
    vectors = end > begin ? static_cast<std::uint32_t>((end - begin) / V) : 0;
    const std::uint64_t head = vectors > 0 ? begin - from : columns;
    const std::uint64_t tail = vectors > 0 ? to - end : 0;
    edge = threadIdx.x < head ? from + threadIdx.x : end + (threadIdx.x - head);
    has_edge = threadIdx.x < head + tail;
  }
  /// Where the thread's vector is in the matrix.
  __device__ std::uint64_t at(std::uint32_t vector) const { return begin + vector * std::uint64_t{V}; }

  /// The thread's vectors by Unroll: calls visit(first of them), which reads as many of those, Threads apart,
  /// as are below `vectors`.
  template <int Unroll, class Visit>
  __device__ __forceinline__ void for_each_batch(Visit visit) const {
#pragma unroll 1
    for (std::uint32_t first = threadIdx.x; first < vectors; first += Unroll * Threads) visit(first);
  }
  template <int Unroll>
  __device__ int present(std::uint32_t first) const {
    const std::uint32_t left = (vectors - first + Threads - 1) / Threads;
    return left < Unroll ? static_cast<int>(left) : Unroll;
  }
  template <int Unroll>
  __device__ __forceinline__ void load(const T* matrix, std::uint32_t first, Vector<T> (&to)[Unroll]) const {
#pragma unroll
    for (int k = 0; k < Unroll; ++k) {
      if (k < present<Unroll>(first)) to[k] = Vector<T>(matrix + at(first + k * Threads));
    }
  }
};

}  // namespace
