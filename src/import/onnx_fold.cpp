// The arithmetic of shapes that exporters write into a graph: Add, Div, Where, Cast…
#include "import/onnx_fold.hpp"

#include <algorithm>
#include <cmath>
#include <map>

namespace jitterscope::onnx_import {
namespace {

bool constant(Import& import, const OnnxNode& node) {
  for (const auto& [name, attribute] : node.attributes) {
    if (attribute.tensor) {
      const OnnxTensor& tensor = *attribute.tensor;
      import.value(node.outputs.front()) = {not_empty(tensor.shape), tensor.values, std::nullopt, true,
                                            is_floating(tensor.element_type)};
      return true;
    }
    if (name == "value_int" && attribute.integer)
      return give_numbers(import, node, {}, Numbers{static_cast<double>(*attribute.integer)});
    if (name == "value_float" && attribute.real)
      return give_numbers(import, node, {}, Numbers{*attribute.real}, true);
    if (name == "value_ints")
      return give_list(import, node, Numbers(attribute.integers.begin(), attribute.integers.end()));
    if (name == "value_floats") return give_list(import, node, attribute.reals, true);
  }
  return false;
}

bool cast(Import& import, const OnnxNode& node) {
  const Value value = import.value(node.input(0));
  const bool is_real = is_floating(static_cast<std::int32_t>(node.integer("to", 0)));
  std::optional<Numbers> numbers = value.numbers;
  if (numbers && value.is_real && !is_real) {
    for (double& number : *numbers) number = std::trunc(number);
  }
  return give_numbers(import, node, value.shape.value_or(Shape{}), std::move(numbers), is_real);
}

// The square root from which attention's scale is computed.
bool square_root(Import& import, const OnnxNode& node) {
  const Value value = import.value(node.input(0));
  std::optional<Numbers> numbers = value.numbers;
  if (numbers) {
    for (double& number : *numbers) number = std::sqrt(number);
  }
  return give_numbers(import, node, value.shape.value_or(Shape{}), std::move(numbers), true);
}

// A list of one number again and again, with which exporters compute the shape that expand() is given.
bool constant_of_shape(Import& import, const OnnxNode& node) {
  const auto shape = whole_numbers(import.value(node.input(0)).numbers);
  const auto found = node.attributes.find("value");
  const bool is_zero = found == node.attributes.end() || !found->second.tensor;
  if (!shape || shape->size() != 1 || shape->front() < 1 ||
      shape->front() > static_cast<std::int64_t>(kMostNumbers))
    return false;
  if (!is_zero && (!found->second.tensor->values || found->second.tensor->values->size() != 1)) return false;
  const double number = is_zero ? 0.0 : found->second.tensor->values->front();
  return give_list(import, node, Numbers(static_cast<std::size_t>(shape->front()), number),
                   is_zero || is_floating(found->second.tensor->element_type));
}

// The first where the condition holds, else the second.
bool where(Import& import, const OnnxNode& node) {
  const auto &condition = import.value(node.input(0)).numbers, &first = import.value(node.input(1)).numbers,
             &second = import.value(node.input(2)).numbers;
  if (!condition || !first || !second || first->size() != second->size()) return false;
  if (condition->size() != first->size()) return false;
  Numbers result = *second;
  for (std::size_t i = 0; i < result.size(); ++i) {
    if ((*condition)[i] != 0.0) result[i] = (*first)[i];
  }
  return give_numbers(import, node, import.shape(node.input(1)).value_or(Shape{}), std::move(result),
                      import.value(node.input(1)).is_real);
}

template <class Compute>
bool of_two(Import& import, const OnnxNode& node, Compute compute) {
  const Value a = import.value(node.input(0)), b = import.value(node.input(1));
  if (!a.numbers || !b.numbers || a.numbers->empty() || b.numbers->empty()) return false;
  const std::size_t count = std::max(a.numbers->size(), b.numbers->size());
  const auto number = [&](const Numbers& numbers, std::size_t i) {
    return numbers[numbers.size() == 1 ? 0 : i];
  };
  if ((a.numbers->size() != count && a.numbers->size() != 1) ||
      (b.numbers->size() != count && b.numbers->size() != 1))
    return false;
  Numbers result;
  for (std::size_t i = 0; i < count; ++i)
    result.push_back(compute(number(*a.numbers, i), number(*b.numbers, i)));
  const Value& longer = a.numbers->size() == count ? a : b;
  return give_numbers(import, node, longer.shape.value_or(Shape{}), std::move(result),
                      a.is_real || b.is_real);
}

bool fold_add(Import& import, const OnnxNode& node) {
  return of_two(import, node, [](double a, double b) { return a + b; });
}
bool fold_subtract(Import& import, const OnnxNode& node) {
  return of_two(import, node, [](double a, double b) { return a - b; });
}
bool fold_multiply(Import& import, const OnnxNode& node) {
  return of_two(import, node, [](double a, double b) { return a * b; });
}
// Of whole numbers, which shapes are: towards zero.
bool fold_divide(Import& import, const OnnxNode& node) {
  const bool is_real = import.value(node.input(0)).is_real || import.value(node.input(1)).is_real;
  return of_two(import, node, [is_real](double a, double b) {
    if (b == 0.0) return 0.0;
    return is_real ? a / b : std::trunc(a / b);
  });
}
// Of whole numbers, with the divisor's sign, or with the dividend's where fmod says so.
bool fold_modulo(Import& import, const OnnxNode& node) {
  const bool is_fmod = node.integer("fmod", 0) != 0;
  return of_two(import, node, [is_fmod](double a, double b) {
    if (b == 0.0) return 0.0;
    const double rest = std::fmod(a, b);
    return !is_fmod && rest != 0.0 && (rest < 0.0) != (b < 0.0) ? rest + b : rest;
  });
}
bool equal(Import& import, const OnnxNode& node) {
  return of_two(import, node, [](double a, double b) { return a == b ? 1.0 : 0.0; });
}

}  // namespace

std::optional<Shape> whole_numbers(const std::optional<std::vector<double>>& numbers) {
  if (!numbers) return std::nullopt;
  Shape result;
  for (const double number : *numbers) {
    // ONNX writes the largest 64-bit number for "to the end".
    constexpr double kEnd = 1e15;
    if (std::isnan(number)) return std::nullopt;
    result.push_back(static_cast<std::int64_t>(std::clamp(number, -kEnd, kEnd)));
  }
  return result;
}

bool fold(Import& import, const OnnxNode& node) {
  using Folder = bool (*)(Import&, const OnnxNode&);
  static const std::map<std::string, Folder> folders = {{"Constant", constant},
                                                        {"Shape", fold_shape},
                                                        {"Gather", fold_gather},
                                                        {"Concat", fold_concat},
                                                        {"Slice", fold_slice},
                                                        {"Cast", cast},
                                                        {"ConstantOfShape", constant_of_shape},
                                                        {"Equal", equal},
                                                        {"Sqrt", square_root},
                                                        {"Where", where},
                                                        {"Add", fold_add},
                                                        {"Sub", fold_subtract},
                                                        {"Mul", fold_multiply},
                                                        {"Div", fold_divide},
                                                        {"Mod", fold_modulo},
                                                        {"Reshape", fold_reshape},
                                                        {"Transpose", fold_transpose},
                                                        {"Identity", fold_kept},
                                                        {"Squeeze", fold_kept},
                                                        {"Unsqueeze", fold_kept}};
  const auto found = folders.find(node.operator_name);
  return found != folders.end() && found->second(import, node);
}

}  // namespace jitterscope::onnx_import
