// jitterscope's own kernels. Plain names, looked up by Kernels; nothing here needs a GPU newer than sm_75.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>

#include "random_numbers.cuh"

namespace {

__device__ __forceinline__ std::uint64_t nanoseconds_now() {
  std::uint64_t now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}

__device__ __forceinline__ std::uint32_t this_sm() {
  std::uint32_t sm;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
  return sm;
}

__device__ __forceinline__ std::size_t first_index() {
  return static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}
__device__ __forceinline__ std::size_t index_step() {
  return static_cast<std::size_t>(gridDim.x) * blockDim.x;
}

// Accesses that the compiler may neither drop nor merge.
__device__ __forceinline__ uint4 load_kept(const uint4* from) {
  uint4 v;
  asm volatile("ld.global.v4.u32 {%0,%1,%2,%3}, [%4];"
               : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
               : "l"(from));
  return v;
}
__device__ __forceinline__ void store_kept(uint4* to, uint4 v) {
  asm volatile("st.global.v4.u32 [%0], {%1,%2,%3,%4};" ::"l"(to), "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w)
               : "memory");
}

}  // namespace

// Holds the stream until *opened reaches this gate's ticket. Tickets only grow, so a gate that is still
// looking cannot mistake the next close for its own.
extern "C" __global__ void jitterscope_gate(const volatile std::uint32_t* opened,
                                            volatile std::uint32_t* timed_out, std::uint32_t ticket,
                                            std::uint64_t limit_nanoseconds) {
  const std::uint64_t start = nanoseconds_now();
  while (*opened < ticket) {
    if (nanoseconds_now() - start > limit_nanoseconds) {
      *timed_out = ticket;
      return;
    }
  }
}

struct ClockSample {
  std::uint64_t cycles, nanoseconds;
};

// Always SM 0, since each SM counts its own cycles. The timer steps by 32 ns on Hopper but by 1 us on others:
// the reading waits for the step, for at most 8192 cycles (4 us), so that its error is one turn of the loop.
extern "C" __global__ void jitterscope_stamp_clock(ClockSample* sample, std::uint32_t* claim,
                                                   std::uint32_t ticket) {
  if (threadIdx.x != 0 || this_sm() != 0) return;
  if (atomicExch(claim, ticket) == ticket) return;
  const std::uint64_t first = nanoseconds_now();
  const long long begin = clock64();
  std::uint64_t now = first;
  long long cycles = begin;
  while (now == first && cycles - begin < 8192) {
    now = nanoseconds_now();
    cycles = clock64();
  }
  sample->cycles = static_cast<std::uint64_t>(cycles);
  sample->nanoseconds = now;
}

extern "C" __global__ void jitterscope_empty() {}

extern "C" __global__ void spin_nanoseconds(std::uint64_t amount) {
  if (threadIdx.x == 0) {
    const std::uint64_t start = nanoseconds_now();
    while (nanoseconds_now() - start < amount) {
    }
  }
  __syncthreads();
}

extern "C" __global__ void spin_cycles(std::uint64_t amount) {
  if (threadIdx.x == 0) {
    const long long start = clock64();
    while (static_cast<std::uint64_t>(clock64() - start) < amount) {
    }
  }
  __syncthreads();
}

extern "C" __global__ void jitterscope_evict_write(uint4* buffer, std::size_t vectors) {
  for (std::size_t i = first_index(); i < vectors; i += index_step()) {
    const auto low = static_cast<std::uint32_t>(i);
    store_kept(buffer + i, make_uint4(low, ~low, low * 2654435761u, 1u));
  }
}

extern "C" __global__ void jitterscope_evict_read(uint4* buffer, std::size_t vectors) {
  std::uint32_t seen = 1;
  for (std::size_t i = first_index(); i < vectors; i += index_step()) seen &= load_kept(buffer + i).w;
  // evict_write left 1 in every last word, so this store never happens; the compiler cannot know that.
  if (seen != 1) buffer[0].w = 1;
}

// Writes back what it reads: the same values, but now produced by a kernel.
extern "C" __global__ void jitterscope_touch(uint4* buffer, std::size_t bytes) {
  const std::size_t vectors = bytes / sizeof(uint4);
  for (std::size_t i = first_index(); i < vectors; i += index_step())
    store_kept(buffer + i, load_kept(buffer + i));
  volatile unsigned char* tail = reinterpret_cast<volatile unsigned char*>(buffer + vectors);
  const std::size_t rest = bytes % sizeof(uint4);
  if (first_index() < rest) tail[first_index()] = tail[first_index()];
}

namespace {

template <class T>
struct Number {  // f32 and f64 compute in themselves
  using Compute = T;
  __device__ static T load(T value) { return value; }
  __device__ static T store(T value) { return value; }
};
template <>
struct Number<__half> {
  using Compute = float;
  __device__ static float load(__half value) { return __half2float(value); }
  __device__ static __half store(float value) { return __float2half_rn(value); }
};
template <>
struct Number<__nv_bfloat16> {
  using Compute = float;
  __device__ static float load(__nv_bfloat16 value) { return __bfloat162float(value); }
  __device__ static __nv_bfloat16 store(float value) { return __float2bfloat16_rn(value); }
};

struct Fill {
  static constexpr int kInputs = 0;
  template <class C>
  __device__ static C apply(C, C) {
    return C(1);
  }
};
struct Add {
  static constexpr int kInputs = 2;
  template <class C>
  __device__ static C apply(C a, C b) {
    return a + b;
  }
};
struct Relu {
  static constexpr int kInputs = 1;
  template <class C>
  __device__ static C apply(C a, C) {
    return a < C(0) ? C(0) : a;  // NaN stays, as in the frameworks
  }
};

template <class T>
union Vector {
  uint4 whole;
  T part[sizeof(uint4) / sizeof(T)];
  __device__ Vector() : whole{} {}
};

template <class Op, class T>
__device__ __forceinline__ T apply_to(T a, T b) {
  using N = Number<T>;
  return N::store(Op::template apply<typename N::Compute>(N::load(a), N::load(b)));
}

template <class Op, class T>
__device__ __forceinline__ void apply_vector(uint4* out, Vector<T> a, Vector<T> b) {
  Vector<T> result;
#pragma unroll
  for (int j = 0; j < static_cast<int>(sizeof(uint4) / sizeof(T)); ++j) {
    result.part[j] = apply_to<Op, T>(a.part[j], b.part[j]);
  }
  *out = result.whole;
}

// Two vectors per input in flight for each thread (more would take over 32 registers and so leave part of the
// SM empty), then one at a time, then the elements that fill no vector.
template <class Op, class T>
__device__ __forceinline__ void elementwise(T* __restrict__ out, const T* __restrict__ a,
                                            const T* __restrict__ b, std::size_t count) {
  constexpr std::size_t kPerVector = sizeof(uint4) / sizeof(T);
  constexpr int kInFlight = 2;
  const auto* va = reinterpret_cast<const uint4*>(a);
  const auto* vb = reinterpret_cast<const uint4*>(b);
  auto* vout = reinterpret_cast<uint4*>(out);
  const std::size_t vectors = count / kPerVector;
  const std::size_t step = index_step();
  std::size_t i = first_index();
  for (; i + (kInFlight - 1) * step < vectors; i += kInFlight * step) {
    Vector<T> x[kInFlight], y[kInFlight];
#pragma unroll
    for (int j = 0; j < kInFlight; ++j) {
      if (Op::kInputs > 0) x[j].whole = va[i + j * step];
      if (Op::kInputs > 1) y[j].whole = vb[i + j * step];
    }
#pragma unroll
    for (int j = 0; j < kInFlight; ++j) apply_vector<Op, T>(vout + i + j * step, x[j], y[j]);
  }
  for (; i < vectors; i += step) {
    Vector<T> x, y;
    if (Op::kInputs > 0) x.whole = va[i];
    if (Op::kInputs > 1) y.whole = vb[i];
    apply_vector<Op, T>(vout + i, x, y);
  }
  const std::size_t last = vectors * kPerVector + first_index();
  if (last < count)
    out[last] = apply_to<Op, T>(Op::kInputs > 0 ? a[last] : T(), Op::kInputs > 1 ? b[last] : T());
}

template <class T>
__device__ __forceinline__ void fill_random(T* out, std::size_t count, int kind, std::uint64_t seed) {
  for (std::size_t i = first_index(); i < count; i += index_step()) {
    out[i] = Number<T>::store(random_value<typename Number<T>::Compute>(kind, seed, i));
  }
}

template <class T>
__device__ __forceinline__ void convert(double* out, const T* in, std::size_t count) {
  for (std::size_t i = first_index(); i < count; i += index_step())
    out[i] = static_cast<double>(Number<T>::load(in[i]));
}

}  // namespace

// Blocks of 256 threads that one SM can hold. Registers are kept low enough for that many, since the grid is
// sized to be resident at once (nvcc otherwise takes up to 80 of them for sm_100).
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ == 800 || (__CUDA_ARCH__ >= 900 && __CUDA_ARCH__ < 1200)
#define JITTERSCOPE_BLOCKS_PER_SM 8
#elif __CUDA_ARCH__ == 750
#define JITTERSCOPE_BLOCKS_PER_SM 4
#else
#define JITTERSCOPE_BLOCKS_PER_SM 6
#endif
#define JITTERSCOPE_ELEMENTWISE extern "C" __global__ void __launch_bounds__(256, JITTERSCOPE_BLOCKS_PER_SM)

#define JITTERSCOPE_KERNELS(T, suffix)                                                                  \
  JITTERSCOPE_ELEMENTWISE fill_##suffix(T* out, const T* a, const T* b, std::size_t count) {            \
    elementwise<Fill, T>(out, a, b, count);                                                             \
  }                                                                                                     \
  JITTERSCOPE_ELEMENTWISE add_##suffix(T* out, const T* a, const T* b, std::size_t count) {             \
    elementwise<Add, T>(out, a, b, count);                                                              \
  }                                                                                                     \
  JITTERSCOPE_ELEMENTWISE relu_##suffix(T* out, const T* a, const T* b, std::size_t count) {            \
    elementwise<Relu, T>(out, a, b, count);                                                             \
  }                                                                                                     \
  extern "C" __global__ void random_##suffix(T* out, std::size_t count, int kind, std::uint64_t seed) { \
    fill_random<T>(out, count, kind, seed);                                                             \
  }                                                                                                     \
  extern "C" __global__ void to_double_##suffix(double* out, const T* in, std::size_t count) {          \
    convert<T>(out, in, count);                                                                         \
  }

JITTERSCOPE_KERNELS(double, f64)
JITTERSCOPE_KERNELS(float, f32)
JITTERSCOPE_KERNELS(__half, f16)
JITTERSCOPE_KERNELS(__nv_bfloat16, bf16)
