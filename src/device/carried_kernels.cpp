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
      {
          "@access",
#include "../../examples/kernels/access.cu.inc"
      },
      {
          "@hierarchy",
#include "../../examples/kernels/hierarchy.cu.inc"
      },
      {
          "@tiling",
#include "../../examples/kernels/tiling.cu.inc"
      },
      {
          "@waves",
#include "../../examples/kernels/waves.cu.inc"
      },
  };
  return kKernels;
}

}  // namespace jitterscope
