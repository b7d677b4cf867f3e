// A product of n x n matrices, C = A B, in the steps of textbooks: without shared memory, with tiles in it,
// and with tiles whose reads fall into one bank. One thread computes one element. Carried by the program as
// @tiling.

// Neighbours in x read one element of A and neighbouring ones of B, n times each, from the caches.
__global__ void plain(int n, const float* a, const float* b, float* c) {
  const int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
  float sum = 0;
  for (int k = 0; k < n; ++k) sum += a[row * n + k] * b[k * n + column];
  c[row * n + column] = sum;
}

// Each element of A and B is read by n / Tile blocks instead of n threads. A block has Tile x Tile threads.
template <int Tile>
__global__ void tiled(int n, const float* a, const float* b, float* c) {
  __shared__ float a_tile[Tile][Tile], b_tile[Tile][Tile];
  const int x = threadIdx.x, y = threadIdx.y;
  const int column = blockIdx.x * Tile + x, row = blockIdx.y * Tile + y;
  float sum = 0;
  for (int first = 0; first < n; first += Tile) {
    a_tile[y][x] = a[row * n + first + x];
    b_tile[y][x] = b[(first + y) * n + column];
    __syncthreads();
    for (int k = 0; k < Tile; ++k) sum += a_tile[y][k] * b_tile[k][x];
    __syncthreads();
  }
  c[row * n + column] = sum;
}

// B's tile lies transposed. Shared memory has 32 banks of 4 bytes: without padding, all threads of a warp
// read one bank, one after the other; with a column more, each reads another.
template <int Padding>
__global__ void transposed(int n, const float* a, const float* b, float* c) {
  constexpr int kTile = 32;
  __shared__ float a_tile[kTile][kTile], b_tile[kTile][kTile + Padding];
  const int x = threadIdx.x, y = threadIdx.y;
  const int column = blockIdx.x * kTile + x, row = blockIdx.y * kTile + y;
  float sum = 0;
  for (int first = 0; first < n; first += kTile) {
    a_tile[y][x] = a[row * n + first + x];
    b_tile[x][y] = b[(first + y) * n + column];
    __syncthreads();
    for (int k = 0; k < kTile; ++k) sum += a_tile[y][k] * b_tile[x][k];
    __syncthreads();
  }
  c[row * n + column] = sum;
}

// In double, rounded once, for blocks of any shape.
__global__ void product_reference(int n, const float* a, const float* b, float* c) {
  const int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
  double sum = 0;
  for (int k = 0; k < n; ++k) sum += static_cast<double>(a[row * n + k]) * b[k * n + column];
  c[row * n + column] = static_cast<float>(sum);
}
