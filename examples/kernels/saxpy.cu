// y = a x + y, one element for each thread; carried by the program itself as @saxpy.
// docs/guide/time-a-kernel.md shows how it is timed.
extern "C" __global__ void saxpy(int n, float a, const float* x, float* y) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = a * x[i] + y[i];
}

// The same in double, rounded once: what --verify compares with, by reference=saxpy_reference.
extern "C" __global__ void saxpy_reference(int n, float a, const float* x, float* y) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = static_cast<float>(static_cast<double>(a) * x[i] + y[i]);
}
