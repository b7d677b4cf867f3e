// Latency and bandwidth of each level of memory, and of atomic additions. Carried by the program as
// @hierarchy.
//
// Latency: one thread follows a ring of addresses, each of which is read from the cell before it, so that no
// load can begin before the last one has ended. Lines stand in the ring in an order that looks random. The
// ring is made by the first launch, as it holds addresses; `cells` and `state` are therefore scratch, and
// `end` is what can be checked: the line that the last load found. Each launch goes on where the last one
// stopped, so that a ring which does not fit into a cache is never found there.
//
// Bandwidth: all processors read 16 bytes a thread at once and combine them by exclusive or, in any order the
// same.
using Address = unsigned long long;
constexpr long long kMade = 0x72696e67;

// Each place below `lines` once, in an order that looks random: each step can be undone, and what lies beyond
// is taken on until it does not.
__device__ unsigned line_at(unsigned place, unsigned lines) {
  const int bits = lines > 1 ? 32 - __clz(lines - 1) : 1, half = bits / 2 + 1;
  const unsigned mask = (1u << bits) - 1;
  place %= lines;
  do {
    place = place * 0x9e3779b1u & mask;
    place ^= place >> half;
    place = place * 0x85ebca6bu & mask;
    place ^= place >> half;
    place = place * 0xc2b2ae35u & mask;
  } while (place >= lines);
  return place;
}

struct ThroughL1 {
  static constexpr bool kReadFirst = false;
  static __device__ Address next(Address at) {
    asm volatile("ld.global.u64 %0, [%0];" : "+l"(at));
    return at;
  }
  static __device__ uint4 read(const uint4* at) {
    uint4 value;
    asm volatile("ld.global.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(value.x), "=r"(value.y), "=r"(value.z), "=r"(value.w)
                 : "l"(at));
    return value;
  }
};
struct PastL1 {
  static constexpr bool kReadFirst = false;
  static __device__ Address next(Address at) {
    asm volatile("ld.global.cg.u64 %0, [%0];" : "+l"(at));
    return at;
  }
  static __device__ uint4 read(const uint4* at) {
    uint4 value;
    asm volatile("ld.global.cg.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(value.x), "=r"(value.y), "=r"(value.z), "=r"(value.w)
                 : "l"(at));
    return value;
  }
};
// For a ring in the L2's farther half: all threads read it, and then what lies behind it, which pushes the
// ring out of the nearer half. (Other work has pushed it out of both since the last launch.)
struct HeldByL2 : PastL1 {
  static constexpr bool kReadFirst = true;
};

template <class Load>
__device__ Address followed(Address at, int loads) {
  for (int i = 0; i < loads; i += 8) {
#pragma unroll
    for (int k = 0; k < 8; ++k) at = Load::next(at);
  }
  return at;
}

// Cells of 8 bytes, `step` of them from line to line. Behind the ring lie `more` cells that are written last,
// so that they and not the ring are what a cache holds of the making. One block.
template <class Load>
__global__ void __launch_bounds__(1024)
    chase(int lines, int step, int more, int loads, Address* cells, long long* state, int* end) {
  if (state[0] != kMade) {
    for (int i = threadIdx.x; i < lines; i += blockDim.x) {
      cells[size_t(line_at(i, lines)) * step] = Address(cells + size_t(line_at(i + 1, lines)) * step);
    }
    __syncthreads();
    for (int i = threadIdx.x; i < more; i += blockDim.x) cells[size_t(lines) * step + i] = i;
    if (threadIdx.x == 0) {
      state[0] = kMade;
      state[1] = static_cast<long long>(Address(cells + size_t(line_at(0, lines)) * step));
    }
    __syncthreads();
  }
  if (Load::kReadFirst) {
    Address all = 0;
    for (int i = threadIdx.x; i < lines + more / step; i += blockDim.x)
      all ^= Load::next(Address(cells + size_t(i) * step));
    if (all == kMade) *end = -1;  // never so; the assembler leaves out loads that nobody needs
    __syncthreads();
  }
  if (threadIdx.x != 0) return;
  const Address at = followed<Load>(static_cast<Address>(state[1]), loads);
  state[1] = static_cast<long long>(at);
  *end = static_cast<int>((at - Address(cells)) / (sizeof(Address) * step));
}
// Where the first launch ends, without a load.
__global__ void chased(int lines, int, int, int loads, Address*, long long*, int* end) {
  if (blockIdx.x == 0 && threadIdx.x == 0) *end = static_cast<int>(line_at(loads, lines));
}

// In shared memory; made in each launch, of at most 2048 cells of 4 bytes.
__global__ void chase_shared(int lines, int, int, int loads, Address*, long long*, int* end) {
  constexpr int kMost = 2048;
  __shared__ unsigned ring[kMost];
  const unsigned begin = static_cast<unsigned>(__cvta_generic_to_shared(ring));
  for (int i = threadIdx.x; i < lines; i += blockDim.x)
    ring[line_at(i, lines)] = begin + 4 * line_at(i + 1, lines);
  __syncthreads();
  if (threadIdx.x != 0) return;
  unsigned at = begin + 4 * line_at(0, lines);
  for (int i = 0; i < loads; i += 8) {
#pragma unroll
    for (int k = 0; k < 8; ++k) asm volatile("ld.shared.u32 %0, [%0];" : "+r"(at));
  }
  *end = static_cast<int>((at - begin) / 4);
}

// Which words of 16 bytes a thread reads: those of its block, which lie together, or by turns with all
// others. `words` are each thread's.
struct Turn {
  size_t first, step;
};
__device__ Turn turn_of(int words, int apart) {
  const size_t block = blockIdx.x, threads = blockDim.x;
  if (apart != 0) return {block * threads * words + threadIdx.x, threads};
  return {block * threads + threadIdx.x, gridDim.x * threads};
}

template <class Load>
__global__ void __launch_bounds__(1024) stream(int words, int apart, int repeats, const uint4* x, int* y) {
  const Turn turn = turn_of(words, apart);
  unsigned all = 0;
  for (int repeat = 0; repeat < repeats; ++repeat) {
    const uint4* at = x + turn.first;
    for (int i = 0; i < words; i += 4) {
      uint4 value[4];
#pragma unroll
      for (int k = 0; k < 4; ++k) value[k] = Load::read(at + k * turn.step);
#pragma unroll
      for (int k = 0; k < 4; ++k) all ^= value[k].x ^ value[k].y ^ value[k].z ^ value[k].w;
      at += 4 * turn.step;
    }
  }
  y[blockIdx.x * blockDim.x + threadIdx.x] = static_cast<int>(all);
}

// From shared memory: two words for each thread of at most 1024.
__global__ void __launch_bounds__(1024)
    stream_shared(int words, int apart, int repeats, const uint4* x, int* y) {
  constexpr int kWords = 2, kMostThreads = 1024;
  __shared__ uint4 tile[kWords * kMostThreads];
  const Turn turn = turn_of(words, apart);
  for (int i = 0; i < kWords; ++i) tile[threadIdx.x + i * blockDim.x] = x[turn.first + i * turn.step];
  __syncthreads();
  const unsigned at = static_cast<unsigned>(__cvta_generic_to_shared(tile + threadIdx.x));
  unsigned all = 0;
#pragma unroll 4
  for (int repeat = 0; repeat < repeats; ++repeat) {
#pragma unroll
    for (int i = 0; i < kWords; ++i) {
      uint4 value;
      asm volatile("ld.volatile.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
                   : "=r"(value.x), "=r"(value.y), "=r"(value.z), "=r"(value.w)
                   : "r"(at + static_cast<unsigned>(i * blockDim.x * sizeof(uint4))));
      all ^= value.x ^ value.y ^ value.z ^ value.w;
    }
  }
  y[blockIdx.x * blockDim.x + threadIdx.x] = static_cast<int>(all);
}

// What all of them leave where `repeats` is odd: an even number of times the same is nothing.
__global__ void streamed(int words, int apart, int repeats, const uint4* x, int* y) {
  const Turn turn = turn_of(words, apart);
  unsigned all = 0;
  for (int i = 0; i < words; ++i) {
    const uint4 value = x[turn.first + i * turn.step];
    all ^= value.x ^ value.y ^ value.z ^ value.w;
  }
  y[blockIdx.x * blockDim.x + threadIdx.x] = repeats % 2 == 0 ? 0 : static_cast<int>(all);
}

// Each thread adds `repeats` ones to one of `places` counters.
__global__ void add(int places, int repeats, int* counters) {
  int* counter = counters + (blockIdx.x * blockDim.x + threadIdx.x) % places;
  for (int i = 0; i < repeats; ++i) asm volatile("red.global.add.u32 [%0], 1;" ::"l"(counter) : "memory");
}
__global__ void added(int places, int repeats, int* counters) {
  const int threads = gridDim.x * blockDim.x;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < places; i += threads)
    counters[i] += threads / places * repeats;
}
