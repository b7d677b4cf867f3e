#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "import/onnx.hpp"

// Computes operators on the numbers of shapes, for fold(). Each returns false if an input is unknown.

namespace jitterscope::onnx_import {

using Numbers = std::vector<double>;
/// Lists longer than this are no shapes.
inline constexpr std::size_t kMostNumbers = 64;

/// Defines the node's first output by value. Returns false if there are no numbers, or too many.
bool give_numbers(Import&, const OnnxNode&, Shape shape, std::optional<Numbers> numbers,
                  bool is_real = false);
bool give_list(Import&, const OnnxNode&, Numbers numbers, bool is_real = false);

bool fold_shape(Import&, const OnnxNode&);
bool fold_gather(Import&, const OnnxNode&);
bool fold_concat(Import&, const OnnxNode&);
/// Slices along the first dimension only, by steps of 1 or -1.
bool fold_slice(Import&, const OnnxNode&);
/// Transposes two dimensions only.
bool fold_transpose(Import&, const OnnxNode&);
bool fold_reshape(Import&, const OnnxNode&);
/// Keeps the numbers: Identity with their shape, Squeeze and Unsqueeze as a list or a single number.
bool fold_kept(Import&, const OnnxNode&);

// Arithmetic on shapes that exporters write into a graph: Add, Div, Where, Cast…

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

template <class Compute>
bool of_each(Import& import, const OnnxNode& node, Compute compute, bool is_real = false) {
  const Value value = import.value(node.input(0));
  std::optional<Numbers> numbers = value.numbers;
  if (numbers) {
    for (double& number : *numbers) number = compute(number);
  }
  return give_numbers(import, node, value.shape.value_or(Shape{}), std::move(numbers),
                      is_real || value.is_real);
}

// Attention's scale is computed by a square root.
bool square_root(Import& import, const OnnxNode& node) {
  return of_each(
      import, node, [](double number) { return std::sqrt(number); }, true);
}
bool negative(Import& import, const OnnxNode& node) {
  return of_each(import, node, [](double number) { return -number; });
}
bool round_down(Import& import, const OnnxNode& node) {
  return of_each(import, node, [](double number) { return std::floor(number); });
}
bool round_up(Import& import, const OnnxNode& node) {
  return of_each(import, node, [](double number) { return std::ceil(number); });
}
bool negation(Import& import, const OnnxNode& node) {
  return of_each(import, node, [](double number) { return number == 0.0 ? 1.0 : 0.0; });
}

// Repeats one number in a list. Exporters compute the shape for expand() with it.
bool constant_of_shape(Import& import, const OnnxNode& node) {
  const auto shape = import.whole_numbers(node.input(0));
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

// Takes the first input if the condition holds, else the second.
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

// Computes by NumPy's broadcasting rule, for lists and single numbers.
std::optional<Value> of_two(const Value& a, const Value& b, double (*compute)(double, double)) {
  if (!a.numbers || !b.numbers || a.numbers->empty() || b.numbers->empty()) return std::nullopt;
  const std::size_t count = std::max(a.numbers->size(), b.numbers->size());
  if ((a.numbers->size() != count && a.numbers->size() != 1) ||
      (b.numbers->size() != count && b.numbers->size() != 1))
    return std::nullopt;
  const auto number = [](const Numbers& numbers, std::size_t i) {
    return numbers[numbers.size() == 1 ? 0 : i];
  };
  Value result{(a.numbers->size() == count ? a : b).shape, Numbers(), std::nullopt, false,
               a.is_real || b.is_real};
  for (std::size_t i = 0; i < count; ++i)
    result.numbers->push_back(compute(number(*a.numbers, i), number(*b.numbers, i)));
  return result;
}

// Computes over two or more inputs, one after another.
template <double (*compute)(double, double)>
bool of_all(Import& import, const OnnxNode& node) {
  std::optional<Value> result = import.value(node.input(0));
  if (node.inputs.size() < 2 || !result->numbers) return false;
  for (std::size_t i = 1; i < node.inputs.size() && result; ++i)
    result = of_two(*result, import.value(node.inputs[i]), compute);
  if (!result) return false;
  return give_numbers(import, node, result->shape.value_or(Shape{}), std::move(result->numbers),
                      result->is_real);
}

double sum_of(double a, double b) { return a + b; }
double difference_of(double a, double b) { return a - b; }
double product_of(double a, double b) { return a * b; }
double power_of(double a, double b) { return std::pow(a, b); }
double least_of(double a, double b) { return std::min(a, b); }
double largest_of(double a, double b) { return std::max(a, b); }
double are_equal(double a, double b) { return a == b ? 1.0 : 0.0; }
double is_less(double a, double b) { return a < b ? 1.0 : 0.0; }
double is_greater(double a, double b) { return a > b ? 1.0 : 0.0; }
double is_not_greater(double a, double b) { return a <= b ? 1.0 : 0.0; }
double is_not_less(double a, double b) { return a >= b ? 1.0 : 0.0; }
double are_both(double a, double b) { return a != 0.0 && b != 0.0 ? 1.0 : 0.0; }
double is_any(double a, double b) { return a != 0.0 || b != 0.0 ? 1.0 : 0.0; }
double ratio_of(double a, double b) { return b == 0.0 ? 0.0 : a / b; }
double quotient_of(double a, double b) { return std::trunc(ratio_of(a, b)); }
double remainder_of(double a, double b) { return b == 0.0 ? 0.0 : std::fmod(a, b); }
// The result has the divisor's sign.
double modulo_of(double a, double b) {
  const double rest = remainder_of(a, b);
  return rest != 0.0 && (rest < 0.0) != (b < 0.0) ? rest + b : rest;
}

// Integers, which shapes are, divide towards zero.
bool fold_divide(Import& import, const OnnxNode& node) {
  const bool is_real = import.value(node.input(0)).is_real || import.value(node.input(1)).is_real;
  return is_real ? of_all<ratio_of>(import, node) : of_all<quotient_of>(import, node);
}
bool fold_modulo(Import& import, const OnnxNode& node) {
  return node.integer("fmod", 0) != 0 ? of_all<remainder_of>(import, node) : of_all<modulo_of>(import, node);
}

bool fold_size(Import& import, const OnnxNode& node) {
  const std::optional<Shape> x = import.shape(node.input(0));
  if (!x) return false;
  return give_numbers(import, node, {}, Numbers{static_cast<double>(count_of(*x))});
}

// Computes the number of elements of a shape, as exporters do.
bool fold_product(Import& import, const OnnxNode& node) {
  const Value value = import.value(node.input(0));
  if (!value.numbers || (value.shape && value.shape->size() > 1)) return false;
  double product = 1.0;
  for (const double number : *value.numbers) product *= number;
  const bool keeps = node.integer("keepdims", 1) != 0;
  return give_numbers(import, node, keeps ? Shape{1} : Shape{}, Numbers{product}, value.is_real);
}

bool fold_range(Import& import, const OnnxNode& node) {
  const auto number = [&](std::size_t place) -> std::optional<double> {
    const auto& numbers = import.value(node.input(place)).numbers;
    return numbers && numbers->size() == 1 ? std::optional(numbers->front()) : std::nullopt;
  };
  const std::optional<double> begin = number(0), end = number(1), step = number(2);
  if (!begin || !end || !step || *step == 0.0) return false;
  const double count = std::ceil((*end - *begin) / *step);
  if (!(count >= 1.0 && count <= static_cast<double>(kMostNumbers))) return false;
  Numbers numbers;
  for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i)
    numbers.push_back(*begin + static_cast<double>(i) * *step);
  return give_list(import, node, std::move(numbers), import.value(node.input(0)).is_real);
}

}  // namespace

bool fold(Import& import, const OnnxNode& node) {
  using Folder = bool (*)(Import&, const OnnxNode&);
  static const std::map<std::string, Folder> folders = {{"Constant", constant},
                                                        {"Shape", fold_shape},
                                                        {"Size", fold_size},
                                                        {"Gather", fold_gather},
                                                        {"Concat", fold_concat},
                                                        {"Slice", fold_slice},
                                                        {"Cast", cast},
                                                        {"ConstantOfShape", constant_of_shape},
                                                        {"Range", fold_range},
                                                        {"ReduceProd", fold_product},
                                                        {"Sqrt", square_root},
                                                        {"Neg", negative},
                                                        {"Floor", round_down},
                                                        {"Ceil", round_up},
                                                        {"Not", negation},
                                                        {"Where", where},
                                                        {"Add", of_all<sum_of>},
                                                        {"Sum", of_all<sum_of>},
                                                        {"Sub", of_all<difference_of>},
                                                        {"Mul", of_all<product_of>},
                                                        {"Pow", of_all<power_of>},
                                                        {"Min", of_all<least_of>},
                                                        {"Max", of_all<largest_of>},
                                                        {"Equal", of_all<are_equal>},
                                                        {"Less", of_all<is_less>},
                                                        {"Greater", of_all<is_greater>},
                                                        {"LessOrEqual", of_all<is_not_greater>},
                                                        {"GreaterOrEqual", of_all<is_not_less>},
                                                        {"And", of_all<are_both>},
                                                        {"Or", of_all<is_any>},
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

// Operators that split, join and reorder lists of numbers.

namespace {

bool is_table(const Value& value) { return value.shape && value.shape->size() > 1; }

// Returns nullopt if the sizes do not multiply to the count.
std::optional<Shape> reshaped(Shape sizes, std::int64_t count) {
  std::int64_t known = 1;
  std::int64_t* open = nullptr;
  for (std::int64_t& size : sizes) {
    if (size == -1 && open == nullptr) {
      open = &size;
    } else if (size >= 1 && size <= count) {
      known *= size;
    } else {
      return std::nullopt;
    }
    if (known > count) return std::nullopt;
  }
  if (open != nullptr) *open = count / known;
  return (open != nullptr ? known * *open : known) == count ? std::optional(sizes) : std::nullopt;
}

}  // namespace

bool give_numbers(Import& import, const OnnxNode& node, Shape shape, std::optional<Numbers> numbers,
                  bool is_real) {
  if (!numbers || numbers->size() > kMostNumbers) return false;
  import.value(node.outputs.front()) = {not_empty(std::move(shape)), std::move(numbers), std::nullopt, false,
                                        is_real};
  return true;
}

bool give_list(Import& import, const OnnxNode& node, Numbers numbers, bool is_real) {
  const Shape shape = {static_cast<std::int64_t>(numbers.size())};
  return give_numbers(import, node, shape, std::move(numbers), is_real);
}

bool fold_shape(Import& import, const OnnxNode& node) {
  const std::optional<Shape> x = import.shape(node.input(0));
  if (!x) return false;
  const auto rank = static_cast<std::int64_t>(x->size());
  const auto place = [&](std::int64_t at) {
    return std::clamp<std::int64_t>(at < 0 ? at + rank : at, 0, rank);
  };
  const std::int64_t start = place(std::clamp<std::int64_t>(node.integer("start", 0), -rank, rank));
  const std::int64_t end = place(std::clamp<std::int64_t>(node.integer("end", rank), -rank, rank));
  Numbers sizes;
  for (std::int64_t i = start; i < end; ++i)
    sizes.push_back(static_cast<double>((*x)[static_cast<std::size_t>(i)]));
  return give_list(import, node, std::move(sizes));
}

bool fold_gather(Import& import, const OnnxNode& node) {
  const auto& data = import.value(node.input(0)).numbers;
  const auto places = import.whole_numbers(node.input(1));
  if (!data || !places || node.integer("axis", 0) != 0 || is_table(import.value(node.input(0)))) return false;
  Numbers picked;
  for (const std::int64_t place : *places) {
    const auto found = axis_of(place, data->size());
    if (!found) return false;
    picked.push_back((*data)[*found]);
  }
  return give_numbers(import, node, import.shape(node.input(1)).value_or(Shape{}), std::move(picked));
}

bool fold_concat(Import& import, const OnnxNode& node) {
  Numbers all;
  for (const std::string& input : node.inputs) {
    const auto& numbers = import.value(input).numbers;
    if (!numbers || is_table(import.value(input)) || all.size() + numbers->size() > kMostNumbers)
      return false;
    all.insert(all.end(), numbers->begin(), numbers->end());
  }
  return give_list(import, node, std::move(all));
}

// Takes rows forwards, or backwards, as exporters write the padding of F.pad.
bool fold_slice(Import& import, const OnnxNode& node) {
  const Value data = import.value(node.input(0));
  const auto starts = import.whole_numbers(node.input(1));
  const auto ends = import.whole_numbers(node.input(2));
  const auto axes = node.input(3).empty() ? Shape{0} : import.whole_numbers(node.input(3));
  const auto steps = node.input(4).empty() ? Shape{1} : import.whole_numbers(node.input(4));
  if (!data.numbers || data.numbers->empty() || !starts || !ends || !axes || !steps) return false;
  Shape shape = data.shape.value_or(Shape{static_cast<std::int64_t>(data.numbers->size())});
  if (starts->size() != 1 || ends->size() != 1 || steps->size() != 1 || axes->size() != 1 || shape.empty() ||
      axis_of(axes->front(), shape.size()) != 0u || std::abs(steps->front()) != 1)
    return false;
  const std::int64_t size = shape.front(), step = steps->front();
  const auto count = static_cast<std::int64_t>(data.numbers->size());
  const std::int64_t width = count / size;
  if (width < 1 || width * size != count) return false;
  const auto place = [&](std::int64_t at, std::int64_t least, std::int64_t most) {
    return std::clamp(at < 0 ? at + size : at, least, most);
  };
  const bool is_forward = step > 0;
  const std::int64_t first =
      is_forward ? place(starts->front(), 0, size) : place(starts->front(), 0, size - 1);
  const std::int64_t last = is_forward ? place(ends->front(), 0, size) : place(ends->front(), -1, size - 1);
  Numbers picked;
  for (std::int64_t row = first; is_forward ? row < last : row > last; row += step) {
    const auto begin = data.numbers->begin() + row * width;
    picked.insert(picked.end(), begin, begin + width);
  }
  shape.front() = static_cast<std::int64_t>(picked.size()) / width;
  return give_numbers(import, node, std::move(shape), std::move(picked), data.is_real);
}

bool fold_transpose(Import& import, const OnnxNode& node) {
  const Value data = import.value(node.input(0));
  if (!data.numbers || data.is_weight || !data.shape || data.shape->size() != 2) return false;
  const Shape order = node.integers("perm");
  if (!order.empty() && order != Shape{1, 0}) return false;
  const auto rows = static_cast<std::size_t>(data.shape->front());
  const auto columns = static_cast<std::size_t>(data.shape->back());
  if (rows * columns != data.numbers->size()) return false;
  Numbers turned;
  for (std::size_t column = 0; column < columns; ++column) {
    for (std::size_t row = 0; row < rows; ++row) turned.push_back((*data.numbers)[row * columns + column]);
  }
  return give_numbers(import, node, {data.shape->back(), data.shape->front()}, std::move(turned),
                      data.is_real);
}

bool fold_reshape(Import& import, const OnnxNode& node) {
  const Value data = import.value(node.input(0));
  if (!data.numbers || data.is_weight) return false;
  const auto count = static_cast<std::int64_t>(data.numbers->size());
  const auto sizes = import.whole_numbers(node.input(1));
  return give_numbers(import, node, (sizes ? reshaped(*sizes, count) : std::nullopt).value_or(Shape{count}),
                      data.numbers, data.is_real);
}

bool fold_kept(Import& import, const OnnxNode& node) {
  const Value value = import.value(node.input(0));
  const bool kept = node.operator_name == "Identity";
  if (!value.numbers || value.is_weight || (!kept && is_table(value))) return false;
  const auto count = static_cast<std::int64_t>(value.numbers->size());
  const bool single = node.operator_name == "Squeeze" && count == 1;
  return give_numbers(import, node, kept ? value.shape.value_or(Shape{}) : (single ? Shape{} : Shape{count}),
                      value.numbers, value.is_real);
}

}  // namespace jitterscope::onnx_import
