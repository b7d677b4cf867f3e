// Prepares each kind of operation on a GPU, by provider.
#pragma once

#include <memory>
#include <vector>

#include "device/chain.hpp"
#include "device/cuda/driver.hpp"
#include "jitterscope/device.hpp"

namespace jitterscope::cuda {

/// Prepares conv2d by cuDNN's backend API.
std::unique_ptr<PreparedOperation> prepare_convolution(const Context&, const Operation&, const InputData&);
std::vector<EngineListing> list_convolution_engines(const Context&, const Operation&);

/// Uses cuBLASLt if its epilogue adds a bias or an algorithm is named, else cuBLAS. For matmul and linear.
std::unique_ptr<PreparedOperation> prepare_matmul(const Context&, const Operation&, const InputData&);
/// Lists cuBLASLt's proposals, best first by its own estimate. With a bias PyTorch takes the first.
std::vector<EngineListing> list_matmul_engines(const Context&, const Operation&);

/// Prepares the other layers by jitterscope's own kernels, which stand in for PyTorch's.
std::unique_ptr<PreparedOperation> prepare_builtin(const Context&, const Operation&, const InputData&);
/// Uses cuDNN if PyTorch does, else jitterscope's own kernels.
std::unique_ptr<PreparedOperation> prepare_batch_norm(const Context&, const Operation&, const InputData&);
/// Uses cuDNN's backend API.
std::unique_ptr<PreparedOperation> prepare_attention(const Context&, const Operation&, const InputData&);
std::unique_ptr<PreparedOperation> prepare_copy(const Context&, const Operation&, const InputData&);
/// Takes no InputData: there are no operands, and the launch allocates.
std::unique_ptr<PreparedOperation> prepare_allocation(const Context&, const Operation&);
std::unique_ptr<PreparedOperation> prepare_spin(const Context&, const Operation&, const InputData&);
/// Prepares a user's kernel, compiled by NVRTC.
std::unique_ptr<PreparedOperation> prepare_cuda_kernel(const Context&, const Operation&, const InputData&);
/// Prepares the steps by `prepare`, on their own streams if the chain asks for several.
std::unique_ptr<PreparedOperation> prepare_chain(const Context&, const Operation&, const InputData&,
                                                 const PreparedChain::PrepareStep& prepare);
/// Prepares any operator by PyTorch.
std::unique_ptr<PreparedOperation> prepare_aten(const Context&, const Operation&, const InputData&);

/// Describe the libraries that were found, for `doctor` and the result; never throw.
LibraryInfo cudnn_library();
LibraryInfo cublas_library();
LibraryInfo cublaslt_library();
LibraryInfo cupti_library();

// The ways in which a GPU runs a fused chain of one lane, named as in device/fusion.hpp.

/// GpuFusion::generated_kernel: compiled by NVRTC.
std::unique_ptr<PreparedOperation> prepare_fused_kernel(const Context&, const Operation&, const InputData&);
/// GpuFusion::product_epilogue: by cuBLASLt.
std::unique_ptr<PreparedOperation> prepare_fused_product(const Context&, const Operation&, const InputData&);
/// GpuFusion::convolution_graph: by cuDNN.
std::unique_ptr<PreparedOperation> prepare_fused_convolution(const Context&, const Operation&,
                                                             const InputData&);

}  // namespace jitterscope::cuda
