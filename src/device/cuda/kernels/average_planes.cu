// The average of each whole plane in NCHW, as AdaptiveAvgPool2d(1) computes it: a group of threads for each
// plane, since one thread for each would leave most of the GPU without work and read without order.
#include "device/cuda/kernels/row_group.cuh"

namespace {

template <class T, int Group>
__device__ __forceinline__ void average_planes(T* __restrict__ y, const T* __restrict__ x,
                                               std::uint64_t planes, std::uint64_t plane) {
  const RowGroup<Group> group;
  const bool present = group.row < planes;
  const RowSlots row(present ? group.row : 0, plane,
                     kPerVector<T>);  // all threads take part in the reduction
  Compute<T> sum = 0;
#pragma unroll 4
  for (std::uint32_t slot = group.lane; slot < row.slots; slot += Group) {
    const Vector<T> v = load_slot(x, row, slot, plane, Compute<T>(0));
#pragma unroll
    for (int j = 0; j < kPerVector<T>; ++j) sum += v.get(j);
  }
  sum = reduce_group<Group, Sum>(sum);
  if (present && group.lane == 0) y[group.row] = Number<T>::store(sum / static_cast<Compute<T>>(plane));
}

}  // namespace

#define JITTERSCOPE_KERNEL(T, suffix, group)                                        \
  JITTERSCOPE_ENTRY(256, average_planes##group##_##suffix,                          \
                    (T * y, const T* x, std::uint64_t planes, std::uint64_t plane), \
                    { average_planes<T, group>(y, x, planes, plane); })
#define JITTERSCOPE_KERNELS(T, suffix) \
  JITTERSCOPE_KERNEL(T, suffix, 8)     \
  JITTERSCOPE_KERNEL(T, suffix, 32)    \
  JITTERSCOPE_KERNEL(T, suffix, 256)
JITTERSCOPE_FOR_EACH_TYPE(JITTERSCOPE_KERNELS)
