// A kernel for a fused chain of pointwise steps and pooling, as the text of a CUDA source.
#pragma once

#include <cstdint>
#include <string>

#include "jitterscope/operation.hpp"

namespace jitterscope::cuda {

inline constexpr std::int64_t kFusedBlock = 256;
inline constexpr const char* kFusedKernel = "fused";

struct FusedSource {
  /// One kernel, kFusedKernel, whose parameters are pointers to the chain's operands in their order. It needs
  /// no header. What a step hands on is a number of the thread's: in float, or double where the operands are.
  std::string text;
  std::int64_t threads = 0;  ///< one for each 16 bytes of the result, or behind a pooling for each element
};

/// Of a chain of one lane for which gpu_fusion_of gives generated_kernel.
FusedSource fused_source(const Chain& chain);

}  // namespace jitterscope::cuda
