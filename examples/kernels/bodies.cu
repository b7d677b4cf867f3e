// How strongly n bodies attract each other along one axis: each thread adds up what all do to one of them.
// Arithmetic and not memory takes the time, so that the compiler's options show. Carried as @bodies.
template <class Real>
__device__ Real pull(int n, int i, const float* x, const float* y, const float* z) {
  Real sum = 0;
  for (int k = 0; k < n; ++k) {
    const Real dx = Real(x[k]) - Real(x[i]), dy = Real(y[k]) - Real(y[i]), dz = Real(z[k]) - Real(z[i]);
    const Real square = dx * dx + dy * dy + dz * dz + Real(0.01);
    sum += dx / (square * sqrt(square));
  }
  return sum;
}

template <class Real>
__global__ void bodies(int n, const float* x, const float* y, const float* z, float* force) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) force[i] = static_cast<float>(pull<Real>(n, i, x, y, z));
}
