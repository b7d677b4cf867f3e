// Calls that the recorded program makes of cuDNN, cuBLASLt and cuBLAS, as PyTorch makes them: the libraries
// are opened for themselves, the calls go through the process's own scope.
#pragma once

#include <string>
#include <vector>

namespace jitterscope::stand_in {

//   convolution:X:W:Y[:C]  a forward convolution of C channels (64), of a plan that is kept
//   dgrad:DY:W:DX          the gradient of its input
//   fused:X:W:Y            a convolution with a ReLU in one graph
//   anew:X:W:Y:C           a convolution of a plan that is made for it and destroyed; prints the plan's
//   address convolutions:N:T       N convolutions, in T threads linear:X:W:B:Y         x·Wᵀ with a bias, by
//   cuBLASLt product:A:B:C          by cublasGemmEx products:A:B:C         a batch, by
//   cublasSgemmStridedBatched, of 14 kernels pointers:A:B:C         a batch by a list of pointers
//   unseen:X:W:Y           a convolution of a plan that is made by dlsym
// Addresses are hexadecimal. Returns false for other verbs.
bool call_library(const std::vector<std::string>& parts);

}  // namespace jitterscope::stand_in
