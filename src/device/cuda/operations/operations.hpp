// Prepares each kind of operation on a GPU, by provider.
#pragma once

#include <memory>
#include <vector>

#include "device/chain.hpp"
#include "device/cuda/driver.hpp"
#include "jitterscope/device.hpp"

namespace jitterscope::cuda {

using Prepare = std::unique_ptr<PreparedOperation>(const Context&, const Operation&, const InputData&);

/// Prepares conv2d by cuDNN's backend API.
Prepare prepare_convolution;
std::vector<EngineListing> list_convolution_engines(const Context&, const Operation&);

/// Uses cuBLASLt if its epilogue adds a bias or an algorithm is named, else cuBLAS. For matmul and linear.
Prepare prepare_matmul;
/// Lists cuBLASLt's proposals, best first by its own estimate. With a bias PyTorch takes the first.
std::vector<EngineListing> list_matmul_engines(const Context&, const Operation&);

/// Prepares the other layers by jitterscope's own kernels, which stand in for PyTorch's.
Prepare prepare_builtin;
/// Uses cuDNN if PyTorch does, else jitterscope's own kernels.
Prepare prepare_batch_norm;
/// Uses cuDNN's backend API.
Prepare prepare_attention;
Prepare prepare_copy;
/// Uses no InputData: there are no operands, and the launch allocates.
Prepare prepare_allocation;
Prepare prepare_spin;
/// Prepares a collective by NCCL. The context has joined the other ranks.
Prepare prepare_collective;
/// Prepares a user's kernel, compiled by NVRTC.
Prepare prepare_cuda_kernel;
/// Prepares the steps by `prepare`, on their own streams if the chain asks for several.
std::unique_ptr<PreparedOperation> prepare_chain(const Context&, const Operation&, const InputData&,
                                                 const PreparedChain::PrepareStep& prepare);
/// Prepares any operator by PyTorch.
Prepare prepare_aten;

/// Describe the libraries that were found, for `doctor` and the result; never throw.
LibraryInfo cudnn_library();
LibraryInfo cublas_library();
LibraryInfo cublaslt_library();
LibraryInfo cupti_library();

// The ways in which a GPU runs a fused chain of one lane, named as in device/fusion.hpp.

/// GpuFusion::generated_kernel: compiled by NVRTC.
Prepare prepare_fused_kernel;
/// GpuFusion::product_epilogue: by cuBLASLt.
Prepare prepare_fused_product;
/// GpuFusion::convolution_graph: by cuDNN.
Prepare prepare_fused_convolution;

}  // namespace jitterscope::cuda
