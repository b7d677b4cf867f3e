// tanh(x @ w) + y of n x n, one element for each thread: an honest candidate that no Python file has.
extern "C" __global__ void row_times_matrix(const float* x, const float* y, const float* w, float* out,
                                            int n) {
  const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= n || column >= n) return;
  float sum = 0.0f;
  for (int k = 0; k < n; ++k) sum += x[row * n + k] * w[k * n + column];
  out[row * n + column] = tanhf(sum) + y[row * n + column];
}
