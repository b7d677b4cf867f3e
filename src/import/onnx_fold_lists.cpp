// Lists of numbers that are shapes, or are computed into them, taken apart and put together.
#include <algorithm>
#include <cstdlib>
#include <utility>

#include "import/onnx_fold.hpp"

namespace jitterscope::onnx_import {
namespace {

bool is_table(const Value& value) { return value.shape && value.shape->size() > 1; }

// Nothing where the sizes do not multiply to the count.
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
  const auto places = whole_numbers(import.value(node.input(1)).numbers);
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

// Rows of the first dimension, forwards or, as exporters write the padding of F.pad, backwards.
bool fold_slice(Import& import, const OnnxNode& node) {
  const Value data = import.value(node.input(0));
  const auto starts = whole_numbers(import.value(node.input(1)).numbers);
  const auto ends = whole_numbers(import.value(node.input(2)).numbers);
  const auto axes = node.input(3).empty() ? Shape{0} : whole_numbers(import.value(node.input(3)).numbers);
  const auto steps = node.input(4).empty() ? Shape{1} : whole_numbers(import.value(node.input(4)).numbers);
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
  const auto sizes = whole_numbers(import.value(node.input(1)).numbers);
  return give_numbers(import, node, (sizes ? reshaped(*sizes, count) : std::nullopt).value_or(Shape{count}),
                      data.numbers, data.is_real);
}

// The same numbers in one dimension, or as a single one.
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
