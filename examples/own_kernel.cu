// Times a kernel of one's own: saxpy on 16 Mi elements, with warm and with cold caches.
//   own_kernel [cuda:N]
#include <cuda_runtime.h>

#include <cstdio>

#include "jitterscope/jitterscope.hpp"

__global__ void saxpy(float a, const float* x, float* y, int count) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < count) y[i] = a * x[i] + y[i];
}

int main(int argc, char** argv) try {
  const auto device = jitterscope::open_device(argc > 1 ? argv[1] : "cuda");
  constexpr int kCount = 16 << 20;
  float *x = nullptr, *y = nullptr;
  if (cudaMalloc(&x, kCount * sizeof(float)) != cudaSuccess ||
      cudaMalloc(&y, kCount * sizeof(float)) != cudaSuccess) {
    std::fprintf(stderr, "own_kernel: out of memory\n");
    return 5;
  }
  cudaMemset(x, 0, kCount * sizeof(float));
  cudaMemset(y, 0, kCount * sizeof(float));

  jitterscope::MeasureOptions options;
  options.loads = {jitterscope::Load::burst};
  const jitterscope::Result result = jitterscope::measure(
      *device,
      [&](jitterscope::NativeQueue queue) {
        saxpy<<<kCount / 256, 256, 0, static_cast<cudaStream_t>(queue)>>>(2.0f, x, y, kCount);
      },
      options);
  for (const jitterscope::Measurement& measurement : result.measurements) {
    const auto& time = measurement.time;
    std::printf("burst %s: %.2f us, 95 %% interval %.2f to %.2f us",
                to_string(measurement.conditions.cache).data(), time.median.value() * 1e-3,
                time.low.value() * 1e-3, time.high.value() * 1e-3);
    if (measurement.clock) std::printf(", at %.0f MHz", measurement.clock->median.value() * 1e-6);
    std::printf("\n");
  }
  return 0;
} catch (const jitterscope::Error& error) {
  std::fprintf(stderr, "own_kernel: %s\n", error.what());
  return static_cast<int>(error.exit_code());
}
