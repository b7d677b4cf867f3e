#include "jitterscope/operation.hpp"

#include <fmt/format.h>

#include <type_traits>

#include "operation/aten_text.hpp"
#include "operation/chain.hpp"
#include "operation/convert.hpp"
#include "operation/cuda_kernel.hpp"
#include "operation/kinds.hpp"
#include "operation/limits.hpp"
#include "operation/statistics_type.hpp"
#include "operation/traffic.hpp"

namespace jitterscope {
namespace {

template <class Shape>
concept HasDataType = requires(Shape shape) {
  shape.dtype;
};

}  // namespace

Operation::Operation(Parameters parameters) : parameters_(std::move(parameters)) {
  // Equal operations must print equally: a copy on the device has no host side.
  if (Copy* copy = std::get_if<Copy>(&parameters_); copy != nullptr && copy->kind == CopyKind::d2d) {
    copy->memory = HostMemory::pinned;
  }
  if (Attention* attention = std::get_if<Attention>(&parameters_); attention != nullptr) {
    if (attention->kv_heads == 0) attention->kv_heads = attention->heads;
  }
  if (Aten* aten = std::get_if<Aten>(&parameters_)) kinds::normalize(*aten);
  if (CudaKernel* kernel = std::get_if<CudaKernel>(&parameters_)) kinds::normalize(*kernel);
  if (Convert* convert = std::get_if<Convert>(&parameters_)) kinds::normalize(*convert);
  std::visit(
      [](const auto& shape) {
        if constexpr (HasDataType<std::decay_t<decltype(shape)>>) {
          check_computes_in(kinds::name(shape), "dtype", shape.dtype);
        }
        kinds::check(shape);
        check_operand_bytes(kinds::name(shape), kinds::operands(shape));
      },
      parameters_);
}

std::string_view Operation::kind() const {
  return std::visit([](const auto& shape) { return kinds::name(shape); }, parameters_);
}

std::string Operation::text() const {
  return std::visit(
      [this]<class Shape>(const Shape& shape) {
        if constexpr (std::is_same_v<Shape, Aten>) {
          return aten_text(shape);
        } else if constexpr (std::is_same_v<Shape, CudaKernel>) {
          return cuda_kernel_text(shape);
        } else if constexpr (std::is_same_v<Shape, Chain>) {
          return chain_text(shape);
        } else {
          ParameterWriter writer(kind());
          kinds::write(shape, writer);
          return writer.text();
        }
      },
      parameters_);
}

double Operation::flops() const {
  return std::visit([](const auto& shape) { return kinds::flops(shape); }, parameters_);
}

Bytes Operation::bytes() const {
  if (const Aten* aten = std::get_if<Aten>(&parameters_)) return kinds::bytes(*aten);
  if (const Chain* chain = std::get_if<Chain>(&parameters_)) return kinds::bytes(*chain);
  Bytes total;
  for (const Bytes bytes : operand_traffic(*this)) total += bytes;
  return total;
}

DataType Operation::dtype() const {
  if (const Chain* chain = std::get_if<Chain>(&parameters_)) return coarsest_type(*chain);
  if (const Convert* convert = std::get_if<Convert>(&parameters_)) {
    return coarser_type(convert->dtype, convert->to_dtype);
  }
  return std::visit(
      [](const auto& shape) {
        if constexpr (HasDataType<std::decay_t<decltype(shape)>>) return shape.dtype;
        return DataType::f32;
      },
      parameters_);
}

std::vector<Operand> Operation::operands() const {
  return std::visit([](const auto& shape) { return kinds::operands(shape); }, parameters_);
}

Operation Operation::with_dtype(DataType type) const {
  Parameters changed = parameters_;
  if (Chain* chain = std::get_if<Chain>(&changed)) {
    for (Operation& step : chain->steps) step = step.with_dtype(type);
    return changed;
  }
  if (Convert* convert = std::get_if<Convert>(&changed)) {
    if (convert->dtype == convert->to_dtype) convert->dtype = convert->to_dtype = type;
    return changed;
  }
  std::visit(
      [type](auto& shape) {
        if constexpr (HasDataType<std::decay_t<decltype(shape)>>) shape.dtype = type;
        if constexpr (std::is_same_v<std::decay_t<decltype(shape)>, BatchNorm>) {
          if (shape.weights != DataType::f32) shape.weights = kinds::converted_weights_type(type);
        }
      },
      changed);
  return changed;
}

}  // namespace jitterscope
