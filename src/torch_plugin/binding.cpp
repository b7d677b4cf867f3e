#include "torch_plugin/binding.hpp"

#include <algorithm>
#include <optional>

#include <ATen/ATen.h>
#include <ATen/core/jit_type.h>

#include "base/names.hpp"
#include "torch_plugin/refusal.hpp"
#include "torch_plugin/torch_version.hpp"

namespace jitterscope::torch_plugin {

std::string full_name(const c10::OperatorName& name) {
  return name.overload_name.empty() ? name.name : name.name + "." + name.overload_name;
}

std::optional<std::size_t> place_of(const c10::FunctionSchema& schema, const std::string& name) {
  const auto place = schema.argumentIndexWithName(name);
  return place ? std::optional<std::size_t>(static_cast<std::size_t>(*place)) : std::nullopt;
}

namespace {

[[noreturn]] void refuse(const std::string& sentence) { throw Refusal(JITTERSCOPE_TORCH_USAGE, sentence); }

// Arguments in the schema's places. `problem` says why they do not fit.
struct Fit {
  std::vector<const AtenArgument*> arguments;
  int conversions = 0;
  std::string problem;
};

void place(const Aten& aten, const c10::FunctionSchema& schema, Fit& fit) {
  fit.arguments.resize(schema.arguments().size());
  for (std::size_t i = 0; i < aten.arguments.size(); ++i) {
    const std::string& name = aten.argument_names[i];
    const std::optional<std::size_t> at = name.empty() ? i : place_of(schema, name);
    if (at && *at < fit.arguments.size() && fit.arguments[*at] == nullptr) {
      fit.arguments[*at] = &aten.arguments[i];
    } else if (!at) {
      fit.problem = "it has no argument " + name;
    } else {
      fit.problem = *at < fit.arguments.size()
                        ? "the argument " + name + " is given twice"
                        : "it takes " + std::to_string(fit.arguments.size()) + " arguments, not " +
                              std::to_string(aten.arguments.size());
    }
    if (!fit.problem.empty()) return;
  }
}

Fit fit_of(const Aten& aten, const c10::FunctionSchema& schema) {
  Fit fit;
  place(aten, schema, fit);
  for (std::size_t i = 0; i < fit.arguments.size() && fit.problem.empty(); ++i) {
    const c10::Argument& expected = schema.arguments()[i];
    if (fit.arguments[i] == nullptr) {
      if (!expected.default_value()) fit.problem = "its argument " + expected.name() + " is missing";
      continue;
    }
    const auto conversions = conversions_needed(expected, *fit.arguments[i]);
    if (!conversions) {
      fit.problem = "its argument " + expected.name() + " is a " + expected.type()->str() + ", not " +
                    described(*fit.arguments[i]);
    }
    fit.conversions += conversions.value_or(0);
  }
  return fit;
}

std::vector<c10::OperatorName> overloads_of(const std::string& name) {
  std::vector<c10::OperatorName> overloads;
  for (const c10::OperatorName& known : c10::Dispatcher::singleton().getAllOpNames()) {
    if (known.name == name && c10::Dispatcher::singleton().findSchema(known)) overloads.push_back(known);
  }
  std::sort(overloads.begin(), overloads.end(), [](const auto& a, const auto& b) {
    return a.overload_name < b.overload_name;  // the one without a name first
  });
  return overloads;
}

[[noreturn]] void refuse_unknown(const Aten& aten, const std::string& name) {
  const std::vector<c10::OperatorName> overloads = overloads_of(name);
  std::vector<std::string> known;
  if (!overloads.empty()) {
    for (const c10::OperatorName& overload : overloads) known.push_back(full_name(overload));
    refuse(aten.name + ": PyTorch " TORCH_VERSION " has no such overload; it has " + joined(known));
  }
  for (const c10::OperatorName& operator_name : c10::Dispatcher::singleton().getAllOpNames())
    known.push_back(operator_name.name);
  const std::string nearest = nearest_name(name, known);
  refuse(aten.name + ": PyTorch " TORCH_VERSION " has no such operator" +
         (nearest.empty() ? "" : " (did you mean " + nearest + "?)"));
}

c10::OperatorHandle named_operator(const Aten& aten, const std::string& name, const std::string& overload,
                                   std::vector<const AtenArgument*>& arguments) {
  const auto handle = c10::Dispatcher::singleton().findSchema({name, overload});
  if (!handle) refuse_unknown(aten, name);
  Fit fit = fit_of(aten, handle->schema());
  if (!fit.problem.empty()) {
    refuse(aten.name + ": " + fit.problem + " (" + c10::str(handle->schema()) + ")");
  }
  arguments = std::move(fit.arguments);
  return *handle;
}

c10::OperatorHandle best_overload(const Aten& aten, std::vector<const AtenArgument*>& arguments) {
  std::optional<c10::OperatorHandle> best;
  int fewest = 0;
  std::vector<std::string> problems;
  const std::vector<c10::OperatorName> overloads = overloads_of(aten.name);
  if (overloads.empty()) refuse_unknown(aten, aten.name);
  for (const c10::OperatorName& name : overloads) {
    const auto handle = c10::Dispatcher::singleton().findSchema(name);
    Fit fit = fit_of(aten, handle->schema());
    if (!fit.problem.empty()) {
      problems.push_back(full_name(name) + ": " + fit.problem);
    } else if (!best || fit.conversions < fewest) {
      best = *handle;
      fewest = fit.conversions;
      arguments = std::move(fit.arguments);
    }
  }
  if (!best) refuse(aten.name + ": no overload takes these arguments (" + joined(problems, "; ") + ")");
  return *best;
}

c10::OperatorHandle choose(const Aten& aten, std::vector<const AtenArgument*>& arguments) {
  const std::size_t dot = aten.name.find('.');
  if (dot == std::string::npos) return best_overload(aten, arguments);
  return named_operator(aten, aten.name.substr(0, dot), aten.name.substr(dot + 1), arguments);
}

}  // namespace

Binding::Binding(const Aten& aten) : handle_(choose(aten, arguments_)) {}

const AtenArgument* Binding::find(std::string_view name) const {
  for (std::size_t i = 0; i < arguments_.size(); ++i) {
    if (schema().arguments()[i].name() == name) return arguments_[i];
  }
  return nullptr;
}

namespace {

using Kind = AtenArgument::Kind;
using c10::TypeKind;

// True for a list of fixed length: `int[2]` takes one number for both.
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

// Returns 0 if it fits without a change of kind, 1 if with one.
std::optional<int> either(bool same, bool converted) {
  return same ? std::optional<int>(0) : converted ? std::optional<int>(1) : std::nullopt;
}

std::optional<int> conversions_of(const c10::TypePtr& type, const AtenArgument& argument) {
  switch (type->kind()) {
    case TypeKind::OptionalType:
      return argument.kind == Kind::none ? 0 : conversions_of(without_optional(type), argument);
    case TypeKind::TensorType:
      // None stands for a tensor that was not defined when it was recorded.
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

// Makes what Python passes for `x * 2`: a tensor on the host, marked so that its type yields to the other's.
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
      default: return {};  // a generator: PyTorch takes its own
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

// PyTorch looks up its tables at any number given here, which would end the process.
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
  if (is_written && is_number(argument)) return std::nullopt;  // nobody could read a number as `out`
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
