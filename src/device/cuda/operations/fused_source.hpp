// Generates the CUDA source of a kernel for a fused chain of pointwise steps and pooling.
#pragma once

#include <cstdint>
#include <string>

#include "jitterscope/operation.hpp"

namespace jitterscope::cuda {

inline constexpr std::int64_t kFusedBlock = 256;
inline constexpr const char* kFusedKernel = "fused";

struct FusedSource {
  /// Defines one kernel, kFusedKernel, which takes pointers to the chain's operands in their order and needs
  /// no header. A thread hands a step's result to the next one in float, for f64 operands in double.
  std::string text;
  std::int64_t threads = 0;  ///< one per 16 bytes of the result, or per element after a pooling
};

/// `chain` must have one lane, and gpu_fusion_of must return generated_kernel for it.
FusedSource fused_source(const Chain& chain);

}  // namespace jitterscope::cuda
