#include "device/carried_kernels.hpp"

namespace jitterscope {

std::span<const CarriedKernel> carried_kernels() {
  static constexpr CarriedKernel kKernels[] = {
      {
          "@saxpy",
#include "../../examples/kernels/saxpy.cu.inc"
      },
      {
          "@bodies",
#include "../../examples/kernels/bodies.cu.inc"
      },
  };
  return kKernels;
}

}  // namespace jitterscope
