// The arguments of the kernels in judged_kernels.cu; nvcc and the host's compiler read them.
#pragma once

#include <cstdint>

#include "device/judged_arithmetic.hpp"

namespace jitterscope::cuda {

/// State of a chain, in device memory.
struct JudgedState {
  std::uint32_t key[8], digest[8];
  std::uint32_t arrived;  ///< blocks that have hashed their part of the outputs
};

struct JudgedInput {
  enum Type : std::int32_t { f64, f32, f16, bf16, i64, i32 };
  judging::Drawing drawing = {};
  Type type = f32;
  std::uint64_t elements = 0;
  void* memory = nullptr;
};
/// Arguments of a kernel have at most 4 KiB.
constexpr int kMostJudgedInputs = 32, kMostJudgedOutputs = 32;
struct JudgedInputs {
  int count = 0;
  JudgedInput each[kMostJudgedInputs];
};

/// Outputs of one call, and where they are kept: one behind the other, from an address that 64 divides on.
struct JudgedOutputs {
  int count = 0;
  std::uint64_t bytes = 0;  ///< of all
  unsigned char* kept = nullptr;
  const void* memories[kMostJudgedOutputs] = {};
  std::uint64_t sizes[kMostJudgedOutputs] = {};
};

}  // namespace jitterscope::cuda
