#include <fmt/format.h>

#include <string_view>

#include "device/cuda/kernel_plan.hpp"
#include "device/cuda/kernels/transpose_shape.hpp"
#include "operation/convert.hpp"

namespace jitterscope::cuda {

void plan_convert(KernelPlan& plan, const Convert& shape) {
  const std::string_view from = to_string(shape.dtype == DataType::tf32 ? DataType::f32 : shape.dtype);
  const DataType wider =
      element_size(shape.dtype) > element_size(shape.to_dtype) ? shape.dtype : shape.to_dtype;
  const std::int64_t area = shape.h * shape.w;
  if (!moves_elements(shape)) {
    const std::int64_t count = shape.n * shape.c * area;
    plan.add_covering(fmt::format("convert_{}", from), shape.to_dtype, vectors_of(count, wider),
                      plan.operand(1), plan.operand(0), static_cast<std::uint64_t>(count));
    return;
  }
  // Each image is a matrix, c·(h·w) in NCHW.
  const auto bytes = static_cast<std::size_t>(element_size(wider).value());
  const auto matrix = shape.from == Layout::nchw ? TransposeShape::make(shape.c, area, bytes)
                                                 : TransposeShape::make(area, shape.c, bytes);
  plan.add(fmt::format("transpose_{}", from), shape.to_dtype, shape.n * matrix.tiles(), kBlockThreads,
           plan.operand(1), plan.operand(0), matrix);
}

}  // namespace jitterscope::cuda
