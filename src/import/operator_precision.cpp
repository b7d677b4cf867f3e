#include "import/operator_precision.hpp"

#include <algorithm>

namespace jitterscope {
namespace {

// sm80_xmma_gemm_f32f32_tf32f32_f32_…; CUTLASS calls the same instruction for f32 operands s1688gemm.
bool is_in_tf32(const std::string& kernel) {
  return kernel.find("tf32") != std::string::npos || kernel.find("s1688gemm") != std::string::npos;
}

template <class Product>
void take_precision(ConvertedOperation& converted) {
  const auto* product = std::get_if<Product>(&converted.operation.parameters());
  if (product == nullptr || product->dtype != DataType::f32) return;
  Product changed = *product;
  changed.dtype = DataType::tf32;
  converted.operation = Operation(changed);
}

}  // namespace

ConvertedOperation with_recorded_precision(ConvertedOperation converted, const RecordedWork& work) {
  if (std::none_of(work.kernels.begin(), work.kernels.end(), is_in_tf32)) return converted;
  take_precision<Matmul>(converted);
  take_precision<Linear>(converted);
  return converted;
}

}  // namespace jitterscope
