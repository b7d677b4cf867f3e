// dweight and dbias of layer normalization: the end of the fused pass, or all of it where rows fit into none.
#include "device/cuda/kernels/column_sums.cuh"

namespace {

template <class T>
struct WeightTerms {
  const T *dy, *x;
  const Compute<T>*mean, *deviation;
  std::uint64_t columns;

  __device__ void add(std::uint64_t row, std::int32_t column, Compute<T> (&sums)[2]) const {
    const std::uint64_t at = row * columns + column;
    const Compute<T> outer = Number<T>::load(dy[at]);
    sums[0] += outer * (Number<T>::load(x[at]) - mean[row]) * deviation[row];
    sums[1] += outer;
  }
};

}  // namespace

#define JITTERSCOPE_KERNELS(T, suffix)                                                                   \
  JITTERSCOPE_ENTRY(                                                                                     \
      256, layer_norm_weight_sums_##suffix,                                                              \
      (Compute<T> * weight_sums, Compute<T> * bias_sums, WeightTerms<T> terms, ColumnSumShape shape),    \
      { sum_columns<1>(shape, terms, weight_sums, bias_sums); })                                         \
  JITTERSCOPE_ENTRY(1024, layer_norm_weights_##suffix,                                                   \
                    (T * dweight, T * dbias, const Compute<T>* weight_sums, const Compute<T>* bias_sums, \
                     std::uint32_t parts, std::uint32_t columns),                                        \
                    {                                                                                    \
                      Compute<T> weight = 0, bias = 0;                                                   \
                      add_parts(weight_sums, bias_sums, parts, columns, weight, bias);                   \
                      const std::uint32_t column = blockIdx.x * 32 + threadIdx.x;                        \
                      if (threadIdx.x >= 32 || column >= columns) return;                                \
                      dweight[column] = Number<T>::store(weight);                                        \
                      dbias[column] = Number<T>::store(bias);                                            \
                    })
JITTERSCOPE_FOR_EACH_TYPE(JITTERSCOPE_KERNELS)
