// Operators of PyTorch: which are possible, and their normal form.
#include <fmt/format.h>
#include <algorithm>
#include <cmath>

#include "jitterscope/error.hpp"
#include "operation/aten_text.hpp"
#include "operation/kinds.hpp"
#include "operation/limits.hpp"

namespace jitterscope {
namespace {

using ArgumentKind = AtenArgument::Kind;

constexpr std::size_t kMostDimensions = 64;  // PyTorch's own limit
constexpr std::size_t kDeepestList = 8;      // the parser's

bool is_identifier(std::string_view word) {
  const auto fits = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  };
  return !word.empty() && !(word.front() >= '0' && word.front() <= '9') &&
         std::all_of(word.begin(), word.end(), fits);
}

void check_name(const Aten& aten) {
  const std::string_view name = aten.name;
  const std::size_t colons = std::min(name.find("::"), name.size());
  const std::size_t dot = std::min(name.find('.', colons), name.size());
  const bool named = colons + 2 <= dot && is_identifier(name.substr(0, colons)) &&
                     is_identifier(name.substr(colons + 2, dot - colons - 2));
  if (named && (dot == name.size() || is_identifier(name.substr(dot + 1)))) return;
  throw UsageError(fmt::format(
      "aten: {} is no operator's name: they are written aten::add.Tensor, or aten::relu", in_quotes(name)));
}

[[noreturn]] void fail_tensor(const Aten& aten, const AtenArgument& tensor, std::string_view problem) {
  const Aten shown{.name = {}, .arguments = {tensor}, .argument_names = {}};
  const std::string text = aten_text(shown);  // in parentheses
  throw UsageError(fmt::format("{}: the tensor {} is impossible: {}", aten.name,
                               in_quotes(std::string_view(text).substr(1, text.size() - 2)), problem));
}

void check_tensor(const Aten& aten, const AtenArgument& tensor) {
  if (aten_element_size(tensor.text) == Bytes(0)) fail_tensor(aten, tensor, "its element type is not known");
  if (tensor.shape.size() > kMostDimensions) fail_tensor(aten, tensor, "it has more than 64 dimensions");
  if (!tensor.strides.empty() && tensor.strides.size() != tensor.shape.size())
    fail_tensor(aten, tensor, "it has another number of strides than of dimensions");
  const auto negative = [](std::int64_t number) { return number < 0; };
  if (std::any_of(tensor.shape.begin(), tensor.shape.end(), negative) ||
      std::any_of(tensor.strides.begin(), tensor.strides.end(), negative))
    fail_tensor(aten, tensor, "its sizes and strides must not be negative");
  constexpr std::int64_t kMostElements = kLargestOperandBytes / 16;
  const std::vector<std::int64_t> dense = dense_strides(tensor.shape);
  const auto& strides = tensor.strides.empty() ? dense : tensor.strides;
  std::int64_t extent = 1, count = 1;  // the last element's place, and how many there are with those expanded
  for (std::size_t i = 0; i < tensor.shape.size(); ++i) {
    count = limited_product({count, std::max<std::int64_t>(1, tensor.shape[i])});
    extent += limited_product({std::max<std::int64_t>(0, tensor.shape[i] - 1), strides[i]});
    if (extent > kMostElements || count > kMostElements)
      fail_tensor(aten, tensor, "it has more than 2^42 elements");
  }
}

void check_argument(const Aten& aten, const AtenArgument& argument, std::size_t depth) {
  if (argument.kind == ArgumentKind::tensor) check_tensor(aten, argument);
  if (argument.kind != ArgumentKind::list) return;
  if (depth >= kDeepestList) throw UsageError(aten.name + ": lists nest at most 8 levels deep");
  for (const AtenArgument& element : argument.elements) check_argument(aten, element, depth + 1);
}

void check_argument_names(const Aten& aten) {
  if (aten.argument_names.size() != aten.arguments.size())
    throw UsageError(aten.name + ": there must be as many names of arguments as arguments");
  bool any_named = false;
  for (std::size_t i = 0; i < aten.argument_names.size(); ++i) {
    const std::string& name = aten.argument_names[i];
    if (name.empty() && any_named)
      throw UsageError(
          fmt::format("{}: argument {} has no name, but the one before it has", aten.name, i + 1));
    if (name.empty()) continue;
    any_named = true;
    if (!is_identifier(name))
      throw UsageError(fmt::format("{}: {} is no argument's name", aten.name, in_quotes(name)));
    const auto end = aten.argument_names.begin() + static_cast<std::ptrdiff_t>(i);
    if (std::find(aten.argument_names.begin(), end, name) != end)
      throw UsageError(fmt::format("{}: the argument {} is given twice", aten.name, in_quotes(name)));
  }
}

// Each element once, also of a tensor that is expanded with strides of zero.
std::int64_t stored_bytes(const AtenArgument& argument) {
  std::int64_t total = 0;
  for (const AtenArgument& element : argument.elements) {
    total = std::min(total + stored_bytes(element), kLargestOperandBytes + 1);
  }
  if (argument.kind != ArgumentKind::tensor) return total;
  std::int64_t count = 1;
  for (std::size_t i = 0; i < argument.shape.size(); ++i) {
    const bool expanded = !argument.strides.empty() && argument.strides[i] == 0 && argument.shape[i] > 0;
    if (!expanded) count = limited_product({count, argument.shape[i]});
  }
  return count * aten_element_size(argument.text).value();
}

AtenArgument normal_form(AtenArgument argument) {
  AtenArgument result;
  result.kind = argument.kind;
  switch (argument.kind) {
    case ArgumentKind::none: break;
    case ArgumentKind::boolean: result.boolean = argument.boolean; break;
    case ArgumentKind::integer: result.integer = argument.integer; break;
    case ArgumentKind::real: result.real = argument.real; break;
    case ArgumentKind::text: result.text = std::move(argument.text); break;
    case ArgumentKind::tensor:
      result.text = std::move(argument.text);
      result.shape = std::move(argument.shape);
      if (argument.strides != dense_strides(result.shape)) result.strides = std::move(argument.strides);
      break;
    case ArgumentKind::list:
      for (AtenArgument& element : argument.elements)
        result.elements.push_back(normal_form(std::move(element)));
  }
  return result;
}

}  // namespace

bool AtenArgument::operator==(const AtenArgument& other) const {
  const bool equal_real = real == other.real || (std::isnan(real) && std::isnan(other.real));
  return equal_real && kind == other.kind && boolean == other.boolean && integer == other.integer &&
         text == other.text && shape == other.shape && strides == other.strides && elements == other.elements;
}

namespace kinds {

std::string_view name(const Aten&) { return "aten"; }

void check(const Aten& aten) {
  check_name(aten);
  check_argument_names(aten);
  for (const AtenArgument& argument : aten.arguments) check_argument(aten, argument, 0);
  if (bytes(aten).value() > kLargestOperandBytes)
    throw UsageError(fmt::format("{}: the tensors take more than 64 TiB; make them smaller", aten.name));
}

void normalize(Aten& aten) {
  if (aten.argument_names.empty()) aten.argument_names.resize(aten.arguments.size());
  for (AtenArgument& argument : aten.arguments) argument = normal_form(std::move(argument));
}

double flops(const Aten&) { return 0.0; }

Bytes bytes(const Aten& aten) {
  std::int64_t total = 0;
  for (const AtenArgument& argument : aten.arguments)
    total = std::min(total + stored_bytes(argument), kLargestOperandBytes + 1);
  return Bytes(total);
}

std::vector<Operand> operands(const Aten&) { return {}; }

Kind aten() {
  const auto read = [](const ParameterReader& reader) -> Operation::Parameters {
    reader.fail("an operator of PyTorch is written aten::NAME(ARGUMENTS)");
  };
  return {
      {"aten",
       "any operator of PyTorch, with PyTorch's own kernels, by its schema's name and arguments: tensors as "
       "f32[8,16] (strides in braces: f32[8,16]{1,8}), numbers, true, false, None, \"text\", [lists]",
       "aten::add.Tensor(f32[8,16],f32[8,16]{1,8},alpha=2)",
       {}},
      read};
}

}  // namespace kinds
}  // namespace jitterscope
