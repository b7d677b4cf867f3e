#include "device/cuda/kernel_plan.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace jitterscope::cuda {

std::string KernelPlan::kernel_name(std::string_view base, DataType dtype) {
  const DataType stored = dtype == DataType::tf32 ? DataType::f32 : dtype;
  return fmt::format("{}_{}", base, to_string(stored));
}

unsigned row_threads(std::int64_t items) {
  constexpr std::int64_t kWarp = 32, kMost = kMostRowThreads;
  return static_cast<unsigned>(std::min((items + kWarp - 1) / kWarp * kWarp, kMost));
}

unsigned row_threads(std::int64_t columns, DataType dtype) {
  return row_threads(columns % elements_of_vector(dtype) == 0 ? vectors_of(columns, dtype) : columns);
}

}  // namespace jitterscope::cuda
