// Kernels of a judged chain on a GPU: release, fill, keep. What they compute, a host computes alike
// (judged_arithmetic.hpp).
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "device/cuda/judged_kernels.hpp"

namespace {

using namespace jitterscope::judging;
using jitterscope::cuda::JudgedInput;
using jitterscope::cuda::JudgedInputs;
using jitterscope::cuda::JudgedOutputs;
using jitterscope::cuda::JudgedState;

__device__ std::uint64_t nanoseconds() {
  std::uint64_t time;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(time));
  return time;
}

// Not a number has one representation here and as many on a GPU as there are types.
__device__ void put(double* memory, std::uint64_t, double value) {
  *memory = isnan(value) ? __longlong_as_double(0x7ff8000000000000ll) : value;
}
__device__ void put(float* memory, std::uint64_t, double value) {
  *memory = isnan(value) ? __int_as_float(0x7fc00000) : __double2float_rn(value);
}
__device__ void put(__half* memory, std::uint64_t, double value) {
  *memory = isnan(value) ? __ushort_as_half(0x7e00) : __float2half_rn(__double2float_rn(value));
}
__device__ void put(__nv_bfloat16* memory, std::uint64_t, double value) {
  *memory = isnan(value) ? __ushort_as_bfloat16(0x7fc0) : __float2bfloat16_rn(__double2float_rn(value));
}
__device__ void put(std::int64_t* memory, std::uint64_t whole, double) {
  *memory = static_cast<std::int64_t>(whole);
}
__device__ void put(std::int32_t* memory, std::uint64_t whole, double) {
  *memory = static_cast<std::int32_t>(whole);
}

template <class Number>
__device__ void put_pair(const JudgedInput& input, std::uint64_t pair, const std::uint32_t (&seed)[8],
                         bool is_whole) {
  std::uint64_t bits[2];
  double values[2];
  draw_pair(input.drawing, seed, pair, bits, values);
  for (int i = 0; i < 2; ++i) {
    const std::uint64_t element = 2 * pair + i;
    if (element >= input.elements) return;
    put(static_cast<Number*>(input.memory) + element, is_whole ? whole_number(input.drawing, bits[i]) : 0,
        values[i]);
  }
}

// Adds eight words over all threads of the block; thread 0 gets the sums.
__device__ void add_over_block(std::uint32_t (&words)[8]) {
  __shared__ std::uint32_t of_warp[kLeavesOfGroup / 32][8];
  __syncthreads();  // of_warp may still be read
  for (int word = 0; word < 8; ++word) {
#if __CUDA_ARCH__ >= 800
    words[word] = __reduce_add_sync(0xffffffffu, words[word]);
#else
    for (int distance = 16; distance > 0; distance /= 2) {
      words[word] += __shfl_down_sync(0xffffffffu, words[word], distance);
    }
#endif
    if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32][word] = words[word];
  }
  __syncthreads();
  if (threadIdx.x != 0) return;
  for (int warp = 1; warp < kLeavesOfGroup / 32; ++warp) {
    for (int word = 0; word < 8; ++word) words[word] += of_warp[warp][word];
  }
}

// Hashes this thread's leaf of a group; zeros where the message has none.
__device__ void hash_own_leaf(const std::uint32_t (&key)[8], const std::uint32_t (&leaf)[16], bool is_there,
                              std::uint64_t index, std::uint32_t level, std::uint32_t (&sum)[8]) {
  if (is_there) {
    hash_leaf<std::uint32_t>(key, leaf, static_cast<std::uint32_t>(index),
                             static_cast<std::uint32_t>(index >> 32), level, sum);
  } else {
    for (std::uint32_t& word : sum) word = 0;
  }
  add_over_block(sum);
}

// Reads the leaf that begins at `from` of all outputs, one behind the other, and keeps a copy.
__device__ void take_leaf(const JudgedOutputs& outputs, std::uint64_t from, std::uint32_t (&leaf)[16]) {
  const std::uint64_t count = min(static_cast<std::uint64_t>(kLeafBytes), outputs.bytes - from);
  std::uint64_t begin = 0;
  for (int i = 0; i < outputs.count; ++i) {
    const std::uint64_t end = begin + outputs.sizes[i];
    const unsigned char* memory = static_cast<const unsigned char*>(outputs.memories[i]) + (from - begin);
    const bool is_whole = from >= begin && from + kLeafBytes <= end;
    if (is_whole && reinterpret_cast<std::uintptr_t>(memory) % 16 == 0) {
      for (int vector = 0; vector < 4; ++vector) {
        const uint4 four = reinterpret_cast<const uint4*>(memory)[vector];
        reinterpret_cast<uint4*>(outputs.kept + from)[vector] = four;
        leaf[4 * vector] = four.x;
        leaf[4 * vector + 1] = four.y;
        leaf[4 * vector + 2] = four.z;
        leaf[4 * vector + 3] = four.w;
      }
      return;
    }
    begin = end;
  }
  for (std::uint32_t& word : leaf) word = 0;
  begin = 0;
  for (int i = 0; i < outputs.count; ++i) {
    const std::uint64_t end = begin + outputs.sizes[i];
    for (std::uint64_t place = max(from, begin); place < min(from + count, end); ++place) {
      const unsigned char byte = static_cast<const unsigned char*>(outputs.memories[i])[place - begin];
      outputs.kept[place] = byte;
      leaf[(place - from) / 4] |= static_cast<std::uint32_t>(byte) << (8 * ((place - from) % 4));
    }
    begin = end;
  }
}

// Hashes what nodes there are until one group is left. One block does it: of 256 MiB these are 512 KiB.
__device__ void end_digest(std::uint32_t* nodes, std::uint64_t count, std::uint64_t bytes, JudgedState& state,
                           std::uint32_t (&sum)[8]) {
  std::uint32_t key[8];
  for (int word = 0; word < 8; ++word) key[word] = state.key[word];
  std::uint32_t level = 0;
  while (count > 0) {  // of nodes; two of them are a leaf
    ++level;
    const std::uint64_t leaves = (count + 1) / 2;
    const std::uint64_t groups = (leaves + kLeavesOfGroup - 1) / kLeavesOfGroup;
    for (std::uint64_t group = 0; group < groups; ++group) {
      const std::uint64_t index = group * kLeavesOfGroup + threadIdx.x;
      std::uint32_t leaf[16];
      for (int word = 0; word < 16; ++word) {
        const std::uint64_t place = 16 * index + word;
        leaf[word] = place < 8 * count ? __ldcg(nodes + place) : 0;  // other blocks wrote them
      }
      hash_own_leaf(key, leaf, index < leaves, index, level, sum);
      if (groups > 1 && threadIdx.x == 0) {
        const std::uint32_t nothing[8] = {};
        std::uint32_t node[8];
        hash_pair(key, sum, nothing, group, level, Role::node, node);
        // A group's nodes are read before it is hashed, and its own node lies in front of the next group's.
        for (int word = 0; word < 8; ++word) nodes[8 * group + word] = node[word];
        __threadfence();
      }
      __syncthreads();
    }
    count = groups > 1 ? groups : 0;
  }
  if (threadIdx.x != 0) return;
  std::uint32_t before[8], digest[8];
  for (int word = 0; word < 8; ++word) before[word] = state.digest[word];
  hash_pair(key, sum, before, bytes, level, Role::last, digest);
  for (int word = 0; word < 8; ++word) state.digest[word] = digest[word];
}

}  // namespace

extern "C" {

// Holds the stream until the judge has released the key of this chain, and begins the chain.
__global__ void judged_release(volatile Mailbox* mailbox, JudgedState* state, std::uint32_t ticket,
                               std::uint64_t limit) {
  const std::uint64_t begin = nanoseconds();
  while (mailbox->released != ticket && nanoseconds() - begin < limit) {
  }
  __threadfence_system();
  std::uint32_t key[8], digest[8];
  for (int word = 0; word < 8; ++word) state->key[word] = key[word] = mailbox->key[word];
  first_digest(key, digest);
  for (int word = 0; word < 8; ++word) state->digest[word] = digest[word];
  state->arrived = 0;
}

// Fills all inputs. The seed of a call is the digest before it.
__global__ void judged_fill(const __grid_constant__ JudgedInputs inputs, const JudgedState* state) {
  std::uint32_t seed[8];
  for (int word = 0; word < 8; ++word) seed[word] = state->digest[word];
  const std::uint64_t step = static_cast<std::uint64_t>(gridDim.x) * blockDim.x;
  const std::uint64_t first = static_cast<std::uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  for (int i = 0; i < inputs.count; ++i) {
    const JudgedInput& input = inputs.each[i];
    const std::uint64_t pairs = (input.elements + 1) / 2;
    for (std::uint64_t pair = first; pair < pairs; pair += step) {
      switch (input.type) {
        case JudgedInput::f64: put_pair<double>(input, pair, seed, false); break;
        case JudgedInput::f32: put_pair<float>(input, pair, seed, false); break;
        case JudgedInput::f16: put_pair<__half>(input, pair, seed, false); break;
        case JudgedInput::bf16: put_pair<__nv_bfloat16>(input, pair, seed, false); break;
        case JudgedInput::i64: put_pair<std::int64_t>(input, pair, seed, true); break;
        case JudgedInput::i32: put_pair<std::int32_t>(input, pair, seed, true); break;
      }
    }
  }
}

// Reads a buffer of zeros that is larger than the cache.
__global__ void judged_evict(const uint4* buffer, std::uint64_t vectors, JudgedState* state) {
  const std::uint64_t step = static_cast<std::uint64_t>(gridDim.x) * blockDim.x;
  std::uint32_t bits = 0;
  for (std::uint64_t i = static_cast<std::uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < vectors;
       i += step) {
    const uint4 four = buffer[i];
    bits |= four.x | four.y | four.z | four.w;
  }
  if (bits != 0) state->arrived = 0;  // never, which the compiler cannot know
}

// Keeps a copy of a call's outputs and derives their digest. With a ticket the chain ends, and the judge is
// told.
__global__ void __launch_bounds__(kLeavesOfGroup)
    judged_keep(const __grid_constant__ JudgedOutputs outputs, std::uint32_t* nodes, JudgedState* state,
                volatile Mailbox* mailbox, std::uint32_t ticket) {
  __shared__ bool is_last;
  std::uint32_t key[8], leaf[16], sum[8];
  for (int word = 0; word < 8; ++word) key[word] = state->key[word];
  const std::uint64_t index = static_cast<std::uint64_t>(blockIdx.x) * kLeavesOfGroup + threadIdx.x;
  const bool is_there = index * kLeafBytes < outputs.bytes;
  if (is_there) take_leaf(outputs, index * kLeafBytes, leaf);
  hash_own_leaf(key, leaf, is_there, index, 0, sum);
  if (threadIdx.x == 0) {
    is_last = true;
    if (gridDim.x > 1) {
      const std::uint32_t nothing[8] = {};
      std::uint32_t node[8];
      hash_pair(key, sum, nothing, blockIdx.x, 0, Role::node, node);
      for (int word = 0; word < 8; ++word) nodes[8 * blockIdx.x + word] = node[word];
      __threadfence();
      is_last = atomicAdd(&state->arrived, 1u) + 1 == gridDim.x;
    }
  }
  __syncthreads();
  if (!is_last) return;
  __threadfence();
  end_digest(nodes, gridDim.x > 1 ? gridDim.x : 0, outputs.bytes, *state, sum);
  if (threadIdx.x != 0) return;
  state->arrived = 0;
  if (ticket == 0) return;
  for (int word = 0; word < 8; ++word) mailbox->digest[word] = state->digest[word];
  __threadfence_system();
  mailbox->done = ticket;
}

}  // extern "C"
