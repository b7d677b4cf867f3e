// How each kind of operation is prepared on a GPU, by provider.
#pragma once

#include <memory>
#include <vector>

#include "device/chain.hpp"
#include "device/cuda/driver.hpp"
#include "jitterscope/device.hpp"

namespace jitterscope::cuda {

/// conv2d by cuDNN's backend API.
std::unique_ptr<PreparedOperation> prepare_convolution(const Context&, const Operation&, const InputData&);
std::vector<EngineListing> list_convolution_engines(const Context&, const Operation&);

/// matmul and linear by cuBLASLt where its epilogue adds a bias or an algorithm is named, by cuBLAS else.
std::unique_ptr<PreparedOperation> prepare_matmul(const Context&, const Operation&, const InputData&);
/// What cuBLASLt proposes, best first by its own estimate. PyTorch takes the first of a product with bias.
std::vector<EngineListing> list_matmul_engines(const Context&, const Operation&);

/// The layers besides, by jitterscope's own kernels, which stand in for PyTorch's.
std::unique_ptr<PreparedOperation> prepare_builtin(const Context&, const Operation&, const InputData&);
/// By cuDNN where PyTorch does it so, else by jitterscope's own kernels.
std::unique_ptr<PreparedOperation> prepare_batch_norm(const Context&, const Operation&, const InputData&);
/// By cuDNN's backend API.
std::unique_ptr<PreparedOperation> prepare_attention(const Context&, const Operation&, const InputData&);
std::unique_ptr<PreparedOperation> prepare_copy(const Context&, const Operation&, const InputData&);
/// No operands: the launch allocates.
std::unique_ptr<PreparedOperation> prepare_allocation(const Context&, const Operation&);
std::unique_ptr<PreparedOperation> prepare_spin(const Context&, const Operation&, const InputData&);
/// A kernel of the user's, compiled by NVRTC.
std::unique_ptr<PreparedOperation> prepare_cuda_kernel(const Context&, const Operation&, const InputData&);
/// Its steps by `prepare`, on streams of its own where it asks for several.
std::unique_ptr<PreparedOperation> prepare_chain(const Context&, const Operation&, const InputData&,
                                                 const PreparedChain::PrepareStep& prepare);
/// Any operator, by PyTorch.
std::unique_ptr<PreparedOperation> prepare_aten(const Context&, const Operation&, const InputData&);

/// The libraries as found, for `doctor` and the result; never throw.
LibraryInfo cudnn_library();
LibraryInfo cublas_library();
LibraryInfo cublaslt_library();
LibraryInfo cupti_library();

// The ways in which a GPU runs a fused chain of one lane, by what device/fusion.hpp calls them.

/// GpuFusion::generated_kernel: compiled by NVRTC.
std::unique_ptr<PreparedOperation> prepare_fused_kernel(const Context&, const Operation&, const InputData&);
/// GpuFusion::product_epilogue: by cuBLASLt.
std::unique_ptr<PreparedOperation> prepare_fused_product(const Context&, const Operation&, const InputData&);
/// GpuFusion::convolution_graph: by cuDNN.
std::unique_ptr<PreparedOperation> prepare_fused_convolution(const Context&, const Operation&,
                                                             const InputData&);

}  // namespace jitterscope::cuda
