// How each kind of operation is prepared on a GPU, by provider.
#pragma once

#include <memory>

#include "device/cuda/context.hpp"
#include "jitterscope/device.hpp"

namespace jitterscope::cuda {

/// conv2d by cuDNN's backend API.
std::unique_ptr<PreparedOperation> prepare_convolution(const Context&, const Operation&, const InputData&);
/// matmul and linear by cuBLASLt.
std::unique_ptr<PreparedOperation> prepare_matmul(const Context&, const Operation&, const InputData&);
/// fill, add, relu by jitterscope's own kernels.
std::unique_ptr<PreparedOperation> prepare_elementwise(const Context&, const Operation&, const InputData&);
std::unique_ptr<PreparedOperation> prepare_copy(const Context&, const Operation&, const InputData&);
std::unique_ptr<PreparedOperation> prepare_spin(const Context&, const Operation&, const InputData&);
/// Any operator, by PyTorch.
std::unique_ptr<PreparedOperation> prepare_aten(const Context&, const Operation&, const InputData&);

/// The libraries as found, for `doctor` and the result; never throw.
LibraryInfo cudnn_library();
LibraryInfo cublaslt_library();
LibraryInfo cupti_library();

}  // namespace jitterscope::cuda
