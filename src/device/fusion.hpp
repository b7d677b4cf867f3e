// What several operations are as one launch, and which of them there is no way to fuse: the same for who
// refuses early and for who prepares.
#pragma once

#include <cstddef>
#include <string>

#include "jitterscope/operation.hpp"

namespace jitterscope {

/// relu, relu6, sigmoid, tanh, silu and gelu: a function of one number.
bool is_activation(const Operation&);
/// An activation, add, mul or bias_add: each element of the result needs the same element of the operands, or
/// its channel's.
bool is_pointwise(const Operation&);
/// Whether the bias has a number for each channel of what the convolution, pooling, product (each column) or
/// addition writes, or reads where it is itself a bias_add.
bool adds_to_channels_of(const BiasAdd& bias, const Operation& writer);

/// How a GPU runs a fused chain.
enum class GpuFusion {
  generated_kernel,   ///< pointwise steps, and pooling as the first or the last
  product_epilogue,   ///< a product, then a bias, then relu or gelu
  convolution_graph,  ///< a convolution, then pointwise steps
};
/// Of a chain that can be fused there.
GpuFusion gpu_fusion_of(const Chain&);

/// Empty where the chain can be fused; else a clause that says what cannot: "step 2 (softmax:…) is …". What a
/// library has no kernel for on the device at hand shows when the chain is prepared.
std::string reason_not_fusible_on_gpu(const Chain&);
/// By oneDNN: one primitive with post-ops.
std::string reason_not_fusible_on_cpu(const Chain&);

}  // namespace jitterscope
