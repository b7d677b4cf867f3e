// Each channel's sums for batch normalization. Squares are taken around the channel's first element, which
// keeps the variance right where the mean is large.
#include "device/cuda/kernels/column_sums.cuh"
#include "device/cuda/kernels/row_group.cuh"

namespace {

/// Where a channel's values are: in planes (NCHW) `stride` apart, or side by side (NHWC), where it is 1.
template <class T>
struct Channels {
  const T* x;
  std::uint64_t stride;
  std::uint32_t count;
  __device__ Compute<T> origin(std::uint64_t channel) const { return Number<T>::load(x[channel * stride]); }
};

/// What is summed: of x, and of dy with x.
template <class T>
struct Moments {
  using C = Compute<T>;
  static constexpr bool kPair = false;
  Channels<T> channels;
  __device__ C center(std::uint64_t channel) const { return channels.origin(channel); }
  __device__ const T* first() const { return channels.x; }
  __device__ const T* second() const { return channels.x; }
  __device__ static void add(C x, C, C center, C& a, C& b) {
    a += x;
    b += (x - center) * (x - center);
  }
};
template <class T>
struct Products {
  using C = Compute<T>;
  static constexpr bool kPair = true;
  Channels<T> channels;
  const T* dy;
  const C* mean;
  __device__ C center(std::uint64_t channel) const { return mean[channel]; }
  __device__ const T* first() const { return dy; }
  __device__ const T* second() const { return channels.x; }
  __device__ static void add(C dy, C x, C center, C& a, C& b) {
    a += dy;
    b += dy * (x - center);
  }
};

// NCHW: a group sums one plane of one image; parts are images.
template <class T, int Group, class Terms>
__device__ __forceinline__ void sum_planes(const Terms& terms, std::uint64_t planes, std::uint64_t plane,
                                           Compute<T>* first, Compute<T>* second) {
  using C = Compute<T>;
  const RowGroup<Group> group;
  const bool present = group.row < planes;
  const RowSlots row(present ? group.row : 0, plane, kPerVector<T>);
  const C center = terms.center(present ? group.row % terms.channels.count : 0);
  C a = 0, b = 0;
#pragma unroll 4
  for (std::uint32_t slot = group.lane; slot < row.slots; slot += Group) {
    // The fillers: a zero dy, which adds nothing, or an x at the center, which is taken off below.
    const Vector<T> u = load_slot(terms.first(), row, slot, plane, Terms::kPair ? C(0) : center);
    const Vector<T> v = Terms::kPair ? load_slot(terms.second(), row, slot, plane, C(0)) : u;
#pragma unroll
    for (int j = 0; j < kPerVector<T>; ++j) Terms::add(u.get(j), v.get(j), center, a, b);
  }
  a = reduce_group<Group, Sum>(a);
  b = reduce_group<Group, Sum>(b);
  if (!present || group.lane != 0) return;
  if (!Terms::kPair) a -= static_cast<C>(row.slots * std::uint64_t{kPerVector<T>} - plane) * center;
  first[group.row] = a;
  second[group.row] = b;
}

// NHWC: columns are channels.
template <class T, int V, class Terms>
struct PixelTerms {
  using C = Compute<T>;
  const Terms& terms;
  __device__ void add(std::uint64_t row, std::int32_t column, C (&sums)[2 * V]) const {
    const std::uint64_t at = row * terms.channels.count + column;
    C u[V], v[V];
    load_numbers<V, T>(terms.first() + at, u);
    if constexpr (Terms::kPair) load_numbers<V, T>(terms.second() + at, v);
#pragma unroll
    for (int j = 0; j < V; ++j) {
      Terms::add(u[j], Terms::kPair ? v[j] : C(0), terms.center(column + j), sums[j], sums[V + j]);
    }
  }
};

}  // namespace

#define JITTERSCOPE_PLANES(name, Terms, T, suffix, Group)                                                   \
  JITTERSCOPE_ENTRY(                                                                                        \
      256, batch_norm_##name##_planes##Group##_##suffix,                                                    \
      (Compute<T> * first, Compute<T> * second, Terms<T> terms, std::uint64_t planes, std::uint64_t plane), \
      { sum_planes<T, Group>(terms, planes, plane, first, second); })
#define JITTERSCOPE_PIXELS(name, Terms, T, suffix, width, V)                                         \
  JITTERSCOPE_ENTRY(256, batch_norm_##name##_pixels_##width##_##suffix,                              \
                    (Compute<T> * first, Compute<T> * second, Terms<T> terms, ColumnSumShape shape), \
                    { sum_columns<V>(shape, PixelTerms<T, V, Terms<T>>{terms}, first, second); })
#define JITTERSCOPE_SUMS(name, Terms, T, suffix)        \
  JITTERSCOPE_PLANES(name, Terms, T, suffix, 8)         \
  JITTERSCOPE_PLANES(name, Terms, T, suffix, 32)        \
  JITTERSCOPE_PLANES(name, Terms, T, suffix, 256)       \
  JITTERSCOPE_PIXELS(name, Terms, T, suffix, single, 1) \
  JITTERSCOPE_PIXELS(name, Terms, T, suffix, vector, kPerVector<T>)

#define JITTERSCOPE_KERNELS(T, suffix)          \
  JITTERSCOPE_SUMS(moments, Moments, T, suffix) \
  JITTERSCOPE_SUMS(products, Products, T, suffix)
JITTERSCOPE_FOR_EACH_TYPE(JITTERSCOPE_KERNELS)
