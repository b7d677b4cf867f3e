// Arithmetic that every grid does alike: threads take elements in turn until none is left. 40 sums in
// registers, of 1024 threads, are more than half of what a processor has, so that each runs one block at a
// time and a grid of as many blocks as there are processors is one wave. Carried by the program as @waves.
constexpr int kSums = 40, kSteps = 16;

__device__ float squeezed(float x) {
  float sums[kSums];
#pragma unroll
  for (int i = 0; i < kSums; ++i) sums[i] = x * i;
#pragma unroll 1
  for (int step = 0; step < kSteps; ++step) {
#pragma unroll
    for (int i = 0; i < kSums; ++i) sums[i] = sums[i] * 0.75f + x;
  }
  float all = 0;
#pragma unroll
  for (int i = 0; i < kSums; ++i) all += sums[i];
  return all;
}

// In double, one sum after the other.
__device__ double squeezed_exactly(double x) {
  double all = 0;
#pragma unroll 1
  for (int i = 0; i < kSums; ++i) {
    double sum = x * i;
    for (int step = 0; step < kSteps; ++step) sum = sum * 0.75 + x;
    all += sum;
  }
  return all;
}

__global__ void __launch_bounds__(1024, 1) waves(int n, const float* x, float* y) {
  const int threads = gridDim.x * blockDim.x;
#pragma unroll 1
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += threads) y[i] = squeezed(x[i]);
}

__global__ void waves_reference(int n, const float* x, float* y) {
  const int threads = gridDim.x * blockDim.x;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += threads) {
    y[i] = static_cast<float>(squeezed_exactly(x[i]));
  }
}
