// jitterscope's own kernels, with plain names that Kernels looks up. None needs a GPU newer than sm_75.
#include <cstdint>

#include "device/cuda/kernels/number.cuh"
#include "device/cuda/random_numbers.cuh"

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

// Holds the stream until *opened reaches `ticket`. Tickets only grow, so a kernel that has not yet seen its
// release cannot mistake the next hold for its own.
extern "C" __global__ void jitterscope_hold(const volatile std::uint32_t* opened,
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

// Always on SM 0, since each SM counts its own cycles. The timer steps by 32 ns on Hopper but by 1 us on
// others: the reading waits for a step, at most 8192 cycles (4 us), so its error is one turn of the loop.
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

struct LoadFlags {
  std::uint32_t started, stopped;
};

// Each block keeps its processor for a time, or until the load is stopped.
extern "C" __global__ void jitterscope_load(volatile LoadFlags* flags, std::uint64_t nanoseconds) {
  if (threadIdx.x == 0) {
    if (blockIdx.x == 0) flags->started = 1;
    const std::uint64_t start = nanoseconds_now();
    while (flags->stopped == 0 && nanoseconds_now() - start < nanoseconds) {
    }
  }
  __syncthreads();
}

extern "C" __global__ void jitterscope_await_load(const volatile LoadFlags* flags, std::uint64_t limit) {
  const std::uint64_t start = nanoseconds_now();
  while (flags->started == 0 && nanoseconds_now() - start < limit) {
  }
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
  // evict_write left 1 in every last word, so this store never happens, but the compiler cannot know that.
  if (seen != 1) buffer[0].w = 1;
}

// Writes back the values that it reads, which thus were just produced by a kernel.
extern "C" __global__ void jitterscope_touch(uint4* buffer, std::size_t bytes) {
  const std::size_t vectors = bytes / sizeof(uint4);
  for (std::size_t i = first_index(); i < vectors; i += index_step())
    store_kept(buffer + i, load_kept(buffer + i));
  volatile unsigned char* tail = reinterpret_cast<volatile unsigned char*>(buffer + vectors);
  const std::size_t rest = bytes % sizeof(uint4);
  if (first_index() < rest) tail[first_index()] = tail[first_index()];
}

// Each thread has four vectors in flight, because host memory answers after a microsecond.
extern "C" __global__ void jitterscope_copy(uint4* to, const uint4* from, std::size_t bytes) {
  const std::size_t vectors = bytes / sizeof(uint4), step = index_step();
  std::size_t i = first_index();
  for (; i + 3 * step < vectors; i += 4 * step) {
    const uint4 first = from[i], second = from[i + step], third = from[i + 2 * step],
                fourth = from[i + 3 * step];
    to[i] = first;
    to[i + step] = second;
    to[i + 2 * step] = third;
    to[i + 3 * step] = fourth;
  }
  for (; i < vectors; i += step) to[i] = from[i];
  const std::size_t rest = bytes % sizeof(uint4) / sizeof(std::uint32_t);
  if (first_index() >= rest) return;
  reinterpret_cast<std::uint32_t*>(to + vectors)[first_index()] =
      reinterpret_cast<const std::uint32_t*>(from + vectors)[first_index()];
}

namespace {

template <class T>
__device__ __forceinline__ void fill_random(T* out, std::size_t count, int kind, std::uint64_t seed,
                                            bool non_negative, double scale) {
  for (std::size_t i = first_index(); i < count; i += index_step()) {
    const Compute<T> value = random_value<Compute<T>>(kind, seed, i) * static_cast<Compute<T>>(scale);
    out[i] = Number<T>::store(non_negative && value < Compute<T>(0) ? -value : value);
  }
}

template <class T>
__device__ __forceinline__ void convert(double* out, const T* in, std::size_t count) {
  for (std::size_t i = first_index(); i < count; i += index_step())
    out[i] = static_cast<double>(Number<T>::load(in[i]));
}

}  // namespace

// Indices are random whatever the kind of data. An index that was never written is -1 (all bits set) and
// reads as NaN, like a number that was never written.
#define JITTERSCOPE_INDEX_KERNELS(T, suffix)                                                         \
  extern "C" __global__ void random_indices_##suffix(T* out, std::size_t count, std::uint64_t limit, \
                                                     std::uint64_t seed) {                           \
    for (std::size_t i = first_index(); i < count; i += index_step()) {                              \
      out[i] = static_cast<T>(__umul64hi(hash(seed, i), limit));                                     \
    }                                                                                                \
  }                                                                                                  \
  extern "C" __global__ void to_double_##suffix(double* out, const T* in, std::size_t count) {       \
    for (std::size_t i = first_index(); i < count; i += index_step()) {                              \
      out[i] = in[i] == -1 ? nan("") : static_cast<double>(in[i]);                                   \
    }                                                                                                \
  }

JITTERSCOPE_INDEX_KERNELS(std::int64_t, i64)
JITTERSCOPE_INDEX_KERNELS(std::int32_t, i32)

#define JITTERSCOPE_KERNELS(T, suffix)                                                                \
  extern "C" __global__ void random_##suffix(T* out, std::size_t count, int kind, std::uint64_t seed, \
                                             bool non_negative, double scale) {                       \
    fill_random<T>(out, count, kind, seed, non_negative, scale);                                      \
  }                                                                                                   \
  extern "C" __global__ void to_double_##suffix(double* out, const T* in, std::size_t count) {        \
    convert<T>(out, in, count);                                                                       \
  }
JITTERSCOPE_FOR_EACH_TYPE(JITTERSCOPE_KERNELS)
