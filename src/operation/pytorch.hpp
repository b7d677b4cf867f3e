// The library and the way in which PyTorch runs an operation on a GPU: used to read traces, compare layers
// and choose kernels.
#pragma once

#include <optional>
#include <vector>

#include "jitterscope/operation.hpp"

namespace jitterscope {

/// Types in which PyTorch multiplies f32 tensors by default on a GPU with TF32:
/// torch.backends.cudnn.allow_tf32 is True, and torch.backends.cuda.matmul.allow_tf32 False.
inline constexpr DataType kPytorchConvolutionOfF32 = DataType::tf32, kPytorchProductOfF32 = DataType::f32;

/// True for a convolution in f32 that PyTorch runs in TF32 by default. Depthwise ones that it runs by its own
/// kernels stay in f32.
bool pytorch_runs_in_tf32(const Operation&);

/// True if PyTorch gives a convolution, in any direction, to cuDNN. It runs the others by its own kernels:
/// depthwise ones in NCHW, except f16 with a square filter of 1, 3 or 5, no dilation and at least 32
/// channels, in shapes for which its authors measured cuDNN to be faster. (2.4 to 2.11:
/// aten/src/ATen/native/Convolution.cpp.)
bool pytorch_uses_cudnn(const Conv2d&);

/// True if a batch normalization with weight and bias goes to cuDNN (2.4's _select_batch_norm_backend)
/// instead of a kernel of PyTorch's own. Whether newer versions give bf16 to cuDNN was not checked.
bool pytorch_uses_cudnn(const BatchNorm&);

/// True if cuDNN then runs its persistent kernels, which read x once: only in training in channels-last.
bool pytorch_uses_persistent_mode(const BatchNorm&);

/// True if a product with bias goes to cuBLASLt, with the bias in its epilogue. Otherwise PyTorch first
/// copies the bias by a kernel of its own and runs cuBLAS. As in 2.11 (cuda/Blas.cpp; 60 layers on an H200);
/// later sources also require that A has more than one row.
bool pytorch_uses_bias_epilogue(const Matmul&);

// Layers as PyTorch's operators.

/// An operand of an operator that is not one of its layer's, or not known to be.
inline constexpr std::size_t kUnknownOperand = ~std::size_t{0};

/// A layer as an operator of PyTorch, whose operands are the tensors among its arguments in order, then its
/// outputs.
struct LayerAten {
  Operation operation;
  std::vector<std::size_t> operands;  ///< index among them of each operand of the layer
};

/// Returns nullopt if PyTorch runs the layer by a library that jitterscope calls itself, or by several
/// operators, as its optimizers do. Outputs are new tensors, like the layer's.
std::optional<LayerAten> aten_of_layer(const Operation& layer);

}  // namespace jitterscope

// Types of a normalization's statistics and weights.

namespace jitterscope::kinds {

/// f32 if dtype has 16 bits, as in PyTorch.
inline DataType statistics_type(DataType dtype) {
  return element_size(dtype) == Bytes(2) ? DataType::f32 : dtype;
}

/// Value of BatchNorm::weights if the weights were converted with their model: dtype if it has 16 bits; else
/// f32, which then stands for dtype.
inline DataType converted_weights_type(DataType dtype) {
  return element_size(dtype) == Bytes(2) ? dtype : DataType::f32;
}

}  // namespace jitterscope::kinds
