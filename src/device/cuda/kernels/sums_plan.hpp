// Memory for sums over columns, as column_sums.cuh knows it.
#pragma once

#include "device/cuda/kernel_plan.hpp"
#include "device/cuda/kernels/sums_shape.hpp"

namespace jitterscope::cuda {

struct PartialSums {
  DeviceAddress sums;
  std::uint32_t columns;

  PartialSums(KernelPlan& plan, DataType dtype, std::int64_t parts, std::int64_t of_columns)
      : sums(plan.workspace(Bytes(2 * parts * of_columns * compute_size(dtype).value()))),
        columns(static_cast<std::uint32_t>(of_columns)) {}
};

}  // namespace jitterscope::cuda
