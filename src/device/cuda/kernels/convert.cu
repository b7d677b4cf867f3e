// Converts tensors to another data type, and images to another layout through tiles in shared memory: reading
// along rows and writing along columns without them takes a transaction for each element of one side.
#include <type_traits>

#include "device/cuda/kernels/pack.cuh"
#include "device/cuda/kernels/shapes.hpp"

namespace {

using jitterscope::cuda::kBlockThreads;
using jitterscope::cuda::kLeastTileBits;
using jitterscope::cuda::tile_bits;
using jitterscope::cuda::TransposeShape;

template <class To, class From>
__device__ __forceinline__ Compute<To> converted(Compute<From> value) {
  return static_cast<Compute<To>>(value);
}

template <class A, class B>
using Wider = std::conditional_t<(sizeof(A) > sizeof(B)), A, B>;

/// Each access covers one vector of the wider type.
template <class To, class From>
__device__ __forceinline__ void convert_in_order(To* y, const From* x, std::uint64_t count) {
  for_own_elements<Wider<To, From>>(count, [&](auto width, std::uint64_t at) {
    constexpr int N = decltype(width)::value;
    const auto function = [](std::uint64_t, Compute<From> value) { return converted<To, From>(value); };
    map_packs<To, N>(y, at, function, Pack<From, N>::load(x + at));
  });
}

/// Transposes each matrix of x. All reads of a thread are in flight before the first is needed.
template <class To, class From>
__device__ __forceinline__ void transpose(To* y, const From* x, const TransposeShape& shape) {
  constexpr std::uint32_t kElements = 1u << tile_bits(sizeof(Wider<To, From>));
  constexpr int kOfThread = static_cast<int>(kElements / kBlockThreads);
  // A word behind each row puts a column's elements into different banks.
  constexpr std::uint32_t kFree = sizeof(From) == 2 ? 2 : 1;
  __shared__ From tile[kElements + (kElements >> kLeastTileBits) * kFree];
  const std::uint32_t width = 1u << shape.width_bits, height = 1u << shape.height_bits;
  const std::uint32_t pitch = width + kFree;
  std::uint64_t matrix = blockIdx.x;
  const std::uint64_t first_column = shape.across.split(matrix) << shape.width_bits;
  const std::uint64_t first_row = shape.down.split(matrix) << shape.height_bits;
  x += matrix * shape.rows * shape.columns;
  y += matrix * shape.rows * shape.columns;
  From held[kOfThread] = {};
#pragma unroll
  for (int k = 0; k < kOfThread; ++k) {
    const std::uint32_t i = k * kBlockThreads + threadIdx.x;
    const std::uint64_t row = first_row + (i >> shape.width_bits), column = first_column + (i & (width - 1));
    if (row < shape.rows && column < shape.columns) held[k] = x[row * shape.columns + column];
  }
#pragma unroll
  for (int k = 0; k < kOfThread; ++k) {
    const std::uint32_t i = k * kBlockThreads + threadIdx.x;
    tile[(i >> shape.width_bits) * pitch + (i & (width - 1))] = held[k];
  }
  __syncthreads();
#pragma unroll
  for (int k = 0; k < kOfThread; ++k) {
    const std::uint32_t i = k * kBlockThreads + threadIdx.x;
    const std::uint32_t row = i & (height - 1), column = i >> shape.height_bits;
    if (first_row + row >= shape.rows || first_column + column >= shape.columns) continue;
    y[(first_column + column) * shape.rows + first_row + row] =
        Number<To>::store(converted<To, From>(Number<From>::load(tile[row * pitch + column])));
  }
}

}  // namespace

#define JITTERSCOPE_CONVERT(From, from, To, to)                                                            \
  JITTERSCOPE_ENTRY(kBlockThreads, convert_##from##_##to, (To * y, const From* x, std::uint64_t count),    \
                    { convert_in_order(y, x, count); })                                                    \
  JITTERSCOPE_ENTRY(kBlockThreads, transpose_##from##_##to, (To * y, const From* x, TransposeShape shape), \
                    { transpose(y, x, shape); })
#define JITTERSCOPE_CONVERT_FROM(From, from)   \
  JITTERSCOPE_CONVERT(From, from, double, f64) \
  JITTERSCOPE_CONVERT(From, from, float, f32)  \
  JITTERSCOPE_CONVERT(From, from, __half, f16) \
  JITTERSCOPE_CONVERT(From, from, __nv_bfloat16, bf16)
JITTERSCOPE_FOR_EACH_TYPE(JITTERSCOPE_CONVERT_FROM)
