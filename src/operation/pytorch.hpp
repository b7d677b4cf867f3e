// Which library PyTorch runs an operation by on a GPU, and how: what traces are read by, layers compared by
// and kernels chosen by.
#pragma once

#include <optional>
#include <vector>

#include "jitterscope/operation.hpp"

namespace jitterscope {

/// What PyTorch multiplies f32 tensors in by default, on a GPU that has TF32: torch.backends.cudnn.allow_tf32
/// is True, and torch.backends.cuda.matmul.allow_tf32 False.
inline constexpr DataType kPytorchConvolutionOfF32 = DataType::tf32, kPytorchProductOfF32 = DataType::f32;

/// Whether it is a convolution in f32 that PyTorch runs in TF32 by default: depthwise ones that it runs by
/// kernels of its own stay in f32.
bool pytorch_runs_in_tf32(const Operation&);

/// Whether PyTorch gives a convolution, in any direction, to cuDNN. The others are depthwise ones in NCHW,
/// which it runs by kernels of its own: all but f16 with a square filter of 1, 3 or 5, without dilation, of
/// 32 channels or more, in shapes that its authors measured cuDNN to be faster in. (2.4 to 2.11:
/// aten/src/ATen/native/Convolution.cpp.)
bool pytorch_uses_cudnn(const Conv2d&);

/// Whether a batch normalization with weight and bias goes to cuDNN (2.4's _select_batch_norm_backend), and
/// not to a kernel of PyTorch's own. Whether newer versions give bf16 to cuDNN was not checked.
bool pytorch_uses_cudnn(const BatchNorm&);

/// Whether cuDNN then runs its persistent kernels, which read x once: in training in channels-last alone.
bool pytorch_uses_persistent_mode(const BatchNorm&);

/// Whether a product with bias goes to cuBLASLt, with the bias in its epilogue. Otherwise PyTorch copies the
/// bias first, by a kernel of its own, and runs cuBLAS. As 2.11 does (cuda/Blas.cpp; 60 layers on an H200);
/// its sources after 2.11 ask A as well to have more than one row.
bool pytorch_uses_bias_epilogue(const Matmul&);

// Layers as the operators by which PyTorch runs them.

/// An operand of an operator that is none of its layer's, or not known to be.
inline constexpr std::size_t kUnknownOperand = ~std::size_t{0};

/// The operands of an operator of PyTorch, where they are counted: the tensors among its arguments in their
/// order, then its outputs.
struct LayerAten {
  Operation operation;
  std::vector<std::size_t> operands;  ///< where each operand of the layer is among them
};

/// Nothing where PyTorch runs the layer by a library that jitterscope calls itself, or by several operators,
/// as its optimizers do. Outputs are new tensors, as the layer's are.
std::optional<LayerAten> aten_of_layer(const Operation& layer);

}  // namespace jitterscope

// In which types a normalization keeps its statistics and its weights.

namespace jitterscope::kinds {

/// f32 where dtype has 16 bits, as PyTorch keeps them.
inline DataType statistics_type(DataType dtype) {
  return element_size(dtype) == Bytes(2) ? DataType::f32 : dtype;
}

/// Of a batch normalization's weights that were converted with the rest of its model, as BatchNorm::weights
/// says it: dtype where that has 16 bits, else f32, which stands for dtype there.
inline DataType converted_weights_type(DataType dtype) {
  return element_size(dtype) == Bytes(2) ? dtype : DataType::f32;
}

}  // namespace jitterscope::kinds
