// A copy of n elements of 4 bytes in which each thread takes four. Where neighbouring threads find their
// elements is what the kernels differ in; each copies every element once, so that all leave the same. Memory
// moves sectors of 32 bytes: what a warp needs of each decides how many it takes. n is a power of two.
// Carried by the program as @access.
constexpr int kEach = 4;

template <class Place>
__device__ void copy_by(const float* x, float* y, Place place) {
  const unsigned first = blockIdx.x * blockDim.x * kEach + threadIdx.x;
  float values[kEach];
#pragma unroll
  for (int k = 0; k < kEach; ++k) values[k] = x[place(first + k * blockDim.x)];
#pragma unroll
  for (int k = 0; k < kEach; ++k) y[place(first + k * blockDim.x)] = values[k];
}

// Neighbours next to each other, `Vector` bytes wide: float, float2, float4. The grid is as much smaller.
template <class Vector>
__global__ void coalesced(int, int, const float* x, float* y) {
  const unsigned first = blockIdx.x * blockDim.x * kEach + threadIdx.x;
  Vector values[kEach];
#pragma unroll
  for (int k = 0; k < kEach; ++k) values[k] = reinterpret_cast<const Vector*>(x)[first + k * blockDim.x];
#pragma unroll
  for (int k = 0; k < kEach; ++k) reinterpret_cast<Vector*>(y)[first + k * blockDim.x] = values[k];
}

// Down the columns of a matrix with rows of `step` elements.
__global__ void strided(int n, int step, const float* x, float* y) {
  const unsigned rows = n / step;
  copy_by(x, y, [=](unsigned i) { return i % rows * step + i / rows; });
}

// `step` elements further, and so across one sector more than a warp needs.
__global__ void misaligned(int n, int step, const float* x, float* y) {
  copy_by(x, y, [=](unsigned i) { return (i + step) & (n - 1); });
}

// Anywhere: each step can be undone, so that no two places are the same.
__global__ void scattered(int n, int, const float* x, float* y) {
  const int bits = 31 - __clz(n);
  const unsigned mask = n - 1;
  copy_by(x, y, [=](unsigned i) {
    i = i * 0x9e3779b1u & mask;
    i ^= i >> (bits / 2 + 1);
    i = i * 0x85ebca6bu & mask;
    i ^= i >> (bits / 2 + 1);
    return i * 0xc2b2ae35u & mask;
  });
}

// What all leave, by any grid.
__global__ void copied(int n, int, const float* x, float* y) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) y[i] = x[i];
}
