// Softmax and its logarithm over rows too long for registers: each is read twice, the second time mostly from
// the cache.
#include "device/cuda/kernels/long_row.cuh"
#include "device/cuda/kernels/running_exponentials.cuh"

namespace {

template <class T, int Unroll, int Threads>
__device__ __forceinline__ void forward_streamed(T* __restrict__ y, const T* __restrict__ x,
                                                 std::uint64_t columns, bool logarithm) {
  const LongRow<T, Threads> row(blockIdx.x, columns);
  RunningExponentials<T, Unroll> running;
  row.template for_each_batch<Unroll>([&](std::uint32_t first) {
    Vector<T> values[Unroll];
    row.load(x, first, values);
    running.add(values, row.template present<Unroll>(first));
  });
  if (row.has_edge) running.add(Number<T>::load(x[row.edge]));
  const Normalizer<Compute<T>> normalizer(running.template join<Threads>(), logarithm);
  row.template for_each_batch<Unroll>([&](std::uint32_t first) {
    Vector<T> values[Unroll];
    row.load(x, first, values);
#pragma unroll
    for (int k = 0; k < Unroll; ++k) {
      if (k >= row.template present<Unroll>(first)) break;
      normalized(values[k], normalizer, logarithm).store(y + row.at(first + k * Threads));
    }
  });
  if (row.has_edge) {
    y[row.edge] = Number<T>::store(normalizer.apply(Number<T>::load(x[row.edge]), logarithm));
  }
}

template <class T, int Unroll, int Threads>
__device__ __forceinline__ void backward_streamed(T* __restrict__ dx, const T* __restrict__ dy,
                                                  const T* __restrict__ y, std::uint64_t columns,
                                                  bool logarithm) {
  const LongRow<T, Threads> row(blockIdx.x, columns);
  Compute<T> sum = 0;
  row.template for_each_batch<Unroll>([&](std::uint32_t first) {
    Vector<T> outer[Unroll], result[Unroll];
    row.load(dy, first, outer);
    row.load(y, first, result);
#pragma unroll
    for (int k = 0; k < Unroll; ++k) {
      if (k >= row.template present<Unroll>(first)) break;
      sum += terms(outer[k], result[k], logarithm);
    }
  });
  if (row.has_edge) sum += term(Number<T>::load(dy[row.edge]), Number<T>::load(y[row.edge]), logarithm);
  sum = reduce_group<Threads, Sum>(sum);
  row.template for_each_batch<Unroll>([&](std::uint32_t first) {
    Vector<T> outer[Unroll], result[Unroll];
    row.load(dy, first, outer);
    row.load(y, first, result);
#pragma unroll
    for (int k = 0; k < Unroll; ++k) {
      if (k >= row.template present<Unroll>(first)) break;
      gradients(outer[k], result[k], sum, logarithm).store(dx + row.at(first + k * Threads));
    }
  });
  if (row.has_edge) {
    dx[row.edge] = Number<T>::store(
        gradient(Number<T>::load(dy[row.edge]), Number<T>::load(y[row.edge]), sum, logarithm));
  }
}

}  // namespace

#define JITTERSCOPE_KERNELS(T, suffix)                                                                       \
  JITTERSCOPE_ENTRY(512, softmax_forward_streamed_##suffix,                                                  \
                    (T * y, const T* x, std::uint64_t, std::uint64_t columns, bool logarithm),               \
                    { forward_streamed<T, 4, 512>(y, x, columns, logarithm); })                              \
  JITTERSCOPE_ENTRY(512, softmax_backward_streamed_##suffix,                                                 \
                    (T * dx, const T* dy, const T* y, std::uint64_t, std::uint64_t columns, bool logarithm), \
                    { backward_streamed<T, 2, 512>(dx, dy, y, columns, logarithm); })
JITTERSCOPE_FOR_EACH_TYPE(JITTERSCOPE_KERNELS)
