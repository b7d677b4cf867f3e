#include "torch_plugin/schema_types.hpp"

#include <ATen/ATen.h>
#include <ATen/core/jit_type.h>

#include "torch_plugin/refusal.hpp"

namespace jitterscope::torch_plugin {
namespace {

using Kind = AtenArgument::Kind;
using c10::TypeKind;

// `int[2]` takes one number for both.
bool takes_one_for_all(const c10::Argument& expected) {
  return expected.N().has_value() && *expected.N() > 0;
}

c10::TypePtr without_optional(c10::TypePtr type) {
  while (type->kind() == TypeKind::OptionalType) type = type->expectRef<c10::OptionalType>().getElementType();
  return type;
}

bool is_number(const AtenArgument& argument) {
  return argument.kind == Kind::integer || argument.kind == Kind::real || argument.kind == Kind::boolean;
}

std::optional<int> only(bool fits) { return fits ? std::optional<int>(0) : std::nullopt; }

// Where it fits without a change of kind, or with one.
std::optional<int> either(bool same, bool converted) {
  return same ? std::optional<int>(0) : converted ? std::optional<int>(1) : std::nullopt;
}

std::optional<int> conversions_of(const c10::TypePtr& type, const AtenArgument& argument) {
  switch (type->kind()) {
    case TypeKind::OptionalType:
      return argument.kind == Kind::none ? 0 : conversions_of(without_optional(type), argument);
    case TypeKind::TensorType:
      // None is a tensor that was not defined when it was recorded.
      return either(argument.kind == Kind::tensor, is_number(argument) || argument.kind == Kind::none);
    case TypeKind::IntType:
    case TypeKind::SymIntType: return either(argument.kind == Kind::integer, argument.kind == Kind::boolean);
    case TypeKind::FloatType: return either(argument.kind == Kind::real, argument.kind == Kind::integer);
    case TypeKind::BoolType: return either(argument.kind == Kind::boolean, argument.kind == Kind::integer);
    case TypeKind::NumberType: return only(is_number(argument));
    case TypeKind::StringType:
    case TypeKind::DeviceObjType: return only(argument.kind == Kind::text);
    case TypeKind::GeneratorType: return only(argument.kind == Kind::none || argument.kind == Kind::text);
    case TypeKind::ListType: {
      if (argument.kind != Kind::list) return std::nullopt;
      int total = 0;
      for (const AtenArgument& element : argument.elements) {
        const auto needed = conversions_of(type->expectRef<c10::ListType>().getElementType(), element);
        if (!needed) return std::nullopt;
        total += *needed;
      }
      return total;
    }
    default: return std::nullopt;
  }
}

at::Scalar to_scalar(const AtenArgument& argument) {
  if (argument.kind == Kind::boolean) return argument.boolean;
  if (argument.kind == Kind::integer) return argument.integer;
  return argument.real;
}

std::int64_t to_integer(const AtenArgument& argument) {
  return argument.kind == Kind::boolean ? (argument.boolean ? 1 : 0) : argument.integer;
}

// As Python passes `x * 2`: a tensor on the host, marked so that its type yields to the other's.
at::Tensor wrapped_number(const AtenArgument& argument) {
  const at::Scalar scalar = to_scalar(argument);
  at::Tensor tensor = at::scalar_tensor(scalar, at::device(at::kCPU).dtype(scalar.type()));
  tensor.unsafeGetTensorImpl()->set_wrapped_number(true);
  return tensor;
}

class Converter {
 public:
  Converter(at::Device device, const TensorMaker& make_tensor) : device_(device), make_tensor_(make_tensor) {}

  c10::IValue convert(const c10::TypePtr& type, const AtenArgument& argument, std::size_t position) const {
    switch (type->kind()) {
      case TypeKind::OptionalType:
        return argument.kind == Kind::none ? c10::IValue()
                                           : convert(without_optional(type), argument, position);
      case TypeKind::TensorType:
        if (argument.kind == Kind::none) return at::Tensor();
        return argument.kind == Kind::tensor ? make_tensor_(argument, position) : wrapped_number(argument);
      case TypeKind::IntType:
      case TypeKind::SymIntType: return to_integer(argument);
      case TypeKind::FloatType: return to_scalar(argument).toDouble();
      case TypeKind::BoolType: return to_scalar(argument).toBool();
      case TypeKind::NumberType: return to_scalar(argument);
      case TypeKind::StringType: return argument.text;
      case TypeKind::DeviceObjType: return argument.text == "cpu" ? at::Device(at::kCPU) : device_;
      case TypeKind::ListType: {
        auto list = empty_list(type);
        for (std::size_t i = 0; i < argument.elements.size(); ++i)
          list.push_back(convert(type->expectRef<c10::ListType>().getElementType(), argument.elements[i], i));
        return list;
      }
      default: return {};  // a generator: PyTorch's own
    }
  }

  c10::IValue repeated(const c10::TypePtr& type, const AtenArgument& argument, int count) const {
    auto list = empty_list(type);
    for (int i = 0; i < count; ++i)
      list.push_back(convert(type->expectRef<c10::ListType>().getElementType(), argument, 0));
    return list;
  }

 private:
  // Sizes that may be symbols are given as integers, which every kernel takes.
  static c10::impl::GenericList empty_list(const c10::TypePtr& type) {
    const c10::TypePtr element = type->expectRef<c10::ListType>().getElementType();
    return c10::impl::GenericList(element->kind() == TypeKind::SymIntType ? c10::IntType::get() : element);
  }

  at::Device device_;
  const TensorMaker& make_tensor_;
};

bool stands_for_list(const c10::Argument& expected, const c10::TypePtr& type, const AtenArgument& argument) {
  return type->kind() == TypeKind::ListType && is_number(argument) && takes_one_for_all(expected);
}

// PyTorch reads its tables at any number that it is given here, and ends the process.
void require_element_type(const c10::Argument& expected, const AtenArgument& argument) {
  if (without_optional(expected.real_type())->kind() != TypeKind::ScalarTypeType || !is_number(argument))
    return;
  const std::int64_t number = to_integer(argument), end = static_cast<int>(at::ScalarType::Undefined);
  if (number >= 0 && number < end) return;
  throw Refusal(JITTERSCOPE_TORCH_USAGE, expected.name() + "=" + std::to_string(number) +
                                             " is none of PyTorch's element types, which are 0 to " +
                                             std::to_string(end - 1));
}

}  // namespace

std::optional<int> conversions_needed(const c10::Argument& expected, const AtenArgument& argument) {
  const bool is_written = expected.alias_info() != nullptr && expected.alias_info()->isWrite();
  if (is_written && is_number(argument)) return std::nullopt;  // an `out` that nobody could read
  const c10::TypePtr type = without_optional(expected.type());
  if (!stands_for_list(expected, type, argument)) return conversions_of(expected.type(), argument);
  const auto needed = conversions_of(type->expectRef<c10::ListType>().getElementType(), argument);
  return needed ? std::optional<int>(*needed + 1) : std::nullopt;
}

std::string described(const AtenArgument& argument) {
  switch (argument.kind) {
    case Kind::none: return "None";
    case Kind::boolean: return "true or false";
    case Kind::integer: return "a whole number";
    case Kind::real: return "a real number";
    case Kind::text: return "a text";
    case Kind::tensor: return "a tensor";
    case Kind::list:
      return "a list of " + (argument.elements.empty() ? "nothing" : described(argument.elements[0]));
  }
  return {};
}

c10::IValue to_ivalue(const c10::Argument& expected, const AtenArgument& argument, at::Device device,
                      const TensorMaker& make_tensor) {
  require_element_type(expected, argument);
  const Converter converter(device, make_tensor);
  const c10::TypePtr type = without_optional(expected.type());
  if (stands_for_list(expected, type, argument)) return converter.repeated(type, argument, *expected.N());
  return converter.convert(expected.type(), argument, 0);
}

}  // namespace jitterscope::torch_plugin
