// The ways in which a GPU runs a fused chain of one lane, by what device/fusion.hpp calls them.
#pragma once

#include <memory>

#include "device/cuda/context.hpp"
#include "jitterscope/device.hpp"

namespace jitterscope::cuda {

/// GpuFusion::generated_kernel: compiled by NVRTC.
std::unique_ptr<PreparedOperation> prepare_fused_kernel(const Context&, const Operation&, const InputData&);
/// GpuFusion::product_epilogue: by cuBLASLt.
std::unique_ptr<PreparedOperation> prepare_fused_product(const Context&, const Operation&, const InputData&);
/// GpuFusion::convolution_graph: by cuDNN.
std::unique_ptr<PreparedOperation> prepare_fused_convolution(const Context&, const Operation&,
                                                             const InputData&);

}  // namespace jitterscope::cuda
