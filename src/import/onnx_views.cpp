#include "import/onnx_views.hpp"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "import/onnx.hpp"
#include "jitterscope/error.hpp"
#include "operation/kinds.hpp"

// Imports operators that change a shape and move nothing, or move it in a way that has no kind of operation.

namespace jitterscope::onnx_import {
namespace {

// PyTorch runs nothing for a view: the same memory gets another shape.
void see_as(Import& import, const OnnxNode& node, const Shape& shape, const Shape& strides) {
  const Tensor tensor = import.tensor(node.input(0));
  Value seen = import.value(node.input(0));
  seen.shape = shape;
  seen.tensor = tensor;
  seen.strides = is_row_major(shape, strides) ? std::nullopt : std::optional(strides);
  if (seen.strides) seen.numbers.reset();
  import.value(node.outputs.front()) = std::move(seen);
}

// Does what torch.Tensor.reshape does: a view if the strides allow it, else a copy.
void see_in_shape(Import& import, const OnnxNode& node, const Shape& shape) {
  const Value& x = import.value(node.input(0));
  if (const auto strides = strides_of_view(*x.shape, strides_of(x), shape)) {
    see_as(import, node, shape, *strides);
  } else {
    import.leave_out(node, kCopy, shape);
  }
}

void dropout(Import& import, const OnnxNode& node) {
  if (import.training()) {
    import.network().skip(
        {"Dropout", "Dropout (backward)", "it draws random numbers, for which jitterscope has no operation"});
  }
  pass_on(import, node);
}

void flatten(Import& import, const OnnxNode& node) {
  const Shape x = import.known_shape(node, 0);
  const std::int64_t asked = node.integer("axis", 1);
  const bool is_end = asked == static_cast<std::int64_t>(x.size());
  const auto [rows, columns] = rows_of(x, is_end ? x.size() : required_axis(asked, x.size()));
  see_in_shape(import, node, {rows, columns});
}

// Fills a target shape: zeros copy the input's size, and one -1 takes the rest.
std::optional<Shape> filled(const Shape& target, const Shape& x) {
  Shape result = target;
  std::optional<std::size_t> open;
  for (std::size_t i = 0; i < result.size(); ++i) {
    if (result[i] == 0 && i < x.size()) result[i] = x[i];
    if (result[i] == -1 && !open) {
      open = i;
    } else if (result[i] < 1) {
      return std::nullopt;
    }
  }
  if (!open) return result;
  result[*open] = 1;
  const std::int64_t rest = count_of(result);
  if (count_of(x) % rest != 0) return std::nullopt;
  result[*open] = count_of(x) / rest;
  return result;
}

void reshape(Import& import, const OnnxNode& node) {
  const Shape x = import.known_shape(node, 0);
  std::optional<Shape> target = import.whole_numbers(node.input(1));
  if (!target) target = import.recorded_shape(node.outputs.front());
  if (!target) throw UsageError("the shape that it gives is not known");
  const auto shape = filled(*target, x);
  if (shape && count_of(*shape) == count_of(x)) return see_in_shape(import, node, *shape);
  const auto again = shape ? import.rebatched(*shape, count_of(x)) : Shape{};
  if (count_of(again) == count_of(x)) return see_in_shape(import, node, again);
  if (!import.exported_batch()) throw UsageError("its shape does not fit its input");
  import.fail_of_batch(node);
}

void transpose(Import& import, const OnnxNode& node) {
  const Shape x = import.known_shape(node, 0);
  std::vector<std::int64_t> order = node.integers("perm");
  if (order.empty()) {
    for (std::size_t i = x.size(); i-- > 0;) order.push_back(static_cast<std::int64_t>(i));
  }
  const Shape old_strides = strides_of(import.value(node.input(0)));
  Shape shape, strides;
  for (const std::int64_t axis : order) {
    const std::size_t place = required_axis(axis, x.size());
    shape.push_back(x[place]);
    strides.push_back(old_strides[place]);
  }
  if (count_of(shape) != count_of(x)) throw UsageError("it names an axis twice");
  see_as(import, node, shape, strides);
}

void squeeze(Import& import, const OnnxNode& node) {
  const Shape x = import.known_shape(node, 0);
  const auto axes = axes_of(import, node);
  std::vector<bool> dropped(x.size(), !axes.has_value());
  for (const std::int64_t axis : axes.value_or(Shape{})) dropped[required_axis(axis, x.size())] = true;
  const Shape old_strides = strides_of(import.value(node.input(0)));
  Shape shape, strides;
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (dropped[i] && x[i] == 1) continue;
    shape.push_back(x[i]);
    strides.push_back(old_strides[i]);
  }
  see_as(import, node, shape, strides);
}

void unsqueeze(Import& import, const OnnxNode& node) {
  const Shape x = import.known_shape(node, 0);
  const auto axes = axes_of(import, node);
  if (!axes || axes->size() > 8) throw UsageError("its axes are not known");
  const std::size_t rank = x.size() + axes->size();
  std::vector<bool> added(rank, false);
  for (const std::int64_t axis : *axes) {
    const std::size_t place = required_axis(axis, rank);
    if (added[place]) throw UsageError(kNoAxis);
    added[place] = true;
  }
  const Shape old_strides = strides_of(import.value(node.input(0)));
  Shape shape, strides;
  for (std::size_t i = 0, next = 0; i < rank; ++i) {
    shape.push_back(added[i] ? 1 : x[next]);
    strides.push_back(added[i] ? 1 : old_strides[next]);
    if (!added[i]) ++next;
  }
  see_as(import, node, shape, strides);
}

void concatenate(Import& import, const OnnxNode& node) {
  std::optional<Shape> result;
  for (std::size_t place = 0; place < node.inputs.size(); ++place) {
    const Shape shape = import.known_shape(node, place);
    const std::size_t axis = required_axis(node.integer("axis", 0), shape.size());
    if (result && result->size() != shape.size()) throw UsageError(kNoAxis);
    import.tensor(node.inputs[place]);
    if (!result) {
      result = shape;
      continue;
    }
    for (std::size_t i = 0; i < shape.size(); ++i) {
      if (i == axis || (*result)[i] == shape[i]) continue;
      if (!import.exported_batch()) throw UsageError("its inputs do not fit");
      import.fail_of_batch(node);
    }
    (*result)[axis] += shape[axis];
  }
  import.leave_out(node, "jitterscope has no operation for tensors that are copied side by side", result);
}

void expand(Import& import, const OnnxNode& node) {
  import.leave_out(node, "jitterscope has no operation for a tensor that is seen several times",
                   shape_given_by(import, node));
}

void split(Import& import, const OnnxNode& node) {
  const Shape x = import.known_shape(node, 0);
  const std::size_t axis = required_axis(node.integer("axis", 0), x.size());
  std::optional<Shape> sizes = import.whole_numbers(node.input(1));
  if (!sizes) sizes = node.integers("split");
  const auto parts = static_cast<std::int64_t>(node.outputs.size());
  if (sizes->empty()) {
    if (x[axis] % parts != 0) throw UsageError("its parts differ in size");
    sizes->assign(node.outputs.size(), x[axis] / parts);
  }
  if (sizes->size() != node.outputs.size()) throw UsageError("the sizes of its parts are not known");
  std::vector<Shape> shapes;
  std::vector<std::int64_t> counts;
  for (const std::int64_t size : *sizes) {
    if (size < 1 || size > x[axis]) throw UsageError("the sizes of its parts do not fit");
    shapes.push_back(x);
    shapes.back()[axis] = size;
    counts.push_back(count_of(shapes.back()));
  }
  const auto tensors = import.network().split(import.step_name(node), import.tensor(node.input(0)), counts);
  const Shape strides = strides_of(import.value(node.input(0)));
  for (std::size_t i = 0; i < tensors.size(); ++i)
    import.define(node.outputs[i], shapes[i], tensors[i], strides);
}

// Returns the number of places of an axis from `start` to `end`; negative ones count from the end.
std::int64_t places_between(std::int64_t size, std::int64_t start, std::int64_t end, std::int64_t step) {
  const auto place = [&](std::int64_t at, std::int64_t last) {
    return std::clamp<std::int64_t>(at < 0 ? at + size : at, 0, last);
  };
  if (step > 0) return std::max<std::int64_t>((place(end, size) - place(start, size) + step - 1) / step, 0);
  const std::int64_t before = end < -size ? -1 : place(end, size - 1);
  return std::max<std::int64_t>((place(start, size - 1) - before - step - 1) / -step, 0);
}

// Returns the part's shape and changes `strides` to the part's.
std::optional<Shape> sliced(Import& import, const OnnxNode& node, Shape shape, Shape& strides) {
  const auto numbers = [&](std::size_t place, const char* attribute) -> std::optional<Shape> {
    if (auto known = import.whole_numbers(node.input(place))) return known;
    const Shape older = node.integers(attribute);  // before opset 10
    return older.empty() ? std::nullopt : std::optional(older);
  };
  const auto starts = numbers(1, "starts"), ends = numbers(2, "ends"), axes = numbers(3, "axes");
  const auto steps = numbers(4, "steps");
  if (!starts || !ends || starts->size() != ends->size()) return std::nullopt;
  for (std::size_t i = 0; i < starts->size(); ++i) {
    if ((axes && i >= axes->size()) || (steps && i >= steps->size())) return std::nullopt;
    const auto axis = axis_of(axes ? (*axes)[i] : static_cast<std::int64_t>(i), shape.size());
    const std::int64_t step = steps ? (*steps)[i] : 1;
    if (!axis || step == 0) return std::nullopt;
    shape[*axis] = places_between(shape[*axis], (*starts)[i], (*ends)[i], step);
    strides[*axis] = limited_product({strides[*axis], std::max<std::int64_t>(step, 1)});
  }
  return shape;
}

void slice(Import& import, const OnnxNode& node) {
  const Shape x = import.known_shape(node, 0);
  Shape strides = strides_of(import.value(node.input(0)));
  std::optional<Shape> part = sliced(import, node, x, strides);
  if (!part) part = import.recorded_shape(node.outputs.front());
  if (!part || count_of(*part) < 1 || count_of(*part) > count_of(x))
    throw UsageError("the part that it takes is not known");
  if (*part == x) return pass_on(import, node);
  const Tensor tensor =
      import.network().select(import.step_name(node), import.tensor(node.input(0)), count_of(*part));
  const bool same_axes = part->size() == strides.size();  // false if the shape is the file's own
  import.define(node.outputs.front(), *part, tensor, same_axes ? std::optional(strides) : std::nullopt);
}

}  // namespace

void pass_on(Import& import, const OnnxNode& node) {
  const Shape x = import.known_shape(node, 0);
  see_as(import, node, x, strides_of(import.value(node.input(0))));
}

const Importers& view_importers() {
  static const Importers importers = {
      {"Identity", pass_on}, {"Dropout", dropout},     {"Flatten", flatten},     {"Reshape", reshape},
      {"Squeeze", squeeze},  {"Transpose", transpose}, {"Unsqueeze", unsqueeze}, {"Concat", concatenate},
      {"Split", split},      {"Expand", expand},       {"Slice", slice}};
  return importers;
}

namespace {

// Axes that follow one another in memory, as one: `count` elements at equal distances.
struct Piece {
  std::int64_t count, step;
};

// Returns the pieces, the innermost last.
std::vector<Piece> pieces_of(const Shape& shape, const Shape& strides) {
  std::vector<Piece> pieces;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == 1) continue;
    if (!pieces.empty() && pieces.back().step == limited_product({strides[i], shape[i]})) {
      pieces.back() = {limited_product({pieces.back().count, shape[i]}), strides[i]};
    } else {
      pieces.push_back({shape[i], strides[i]});
    }
  }
  return pieces;
}

}  // namespace

Shape row_major(const Shape& shape) {
  Shape strides(shape.size(), 1);
  for (std::size_t i = shape.size(); i-- > 1;) strides[i - 1] = limited_product({strides[i], shape[i]});
  return strides;
}

bool is_row_major(const Shape& shape, const Shape& strides) {
  const Shape expected = row_major(shape);
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] != 1 && strides[i] != expected[i]) return false;
  }
  return true;
}

// Computes the same as at::detail::computeStride.
std::optional<Shape> strides_of_view(const Shape& shape, const Shape& strides, const Shape& target) {
  std::vector<Piece> pieces = pieces_of(shape, strides);
  Shape result(target.size(), 1);
  for (std::size_t i = target.size(); i-- > 0;) {
    if (target[i] == 1) continue;
    if (pieces.empty() || pieces.back().count % target[i] != 0) return std::nullopt;
    Piece& inner = pieces.back();
    result[i] = inner.step;
    inner = {inner.count / target[i], limited_product({inner.step, target[i]})};
    if (inner.count == 1) pieces.pop_back();
  }
  return result;
}

Shape dense_in_order(const Shape& shape, const Shape& strides) {
  std::vector<std::size_t> order(shape.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return strides[a] > strides[b]; });
  Shape result(shape.size(), 1);
  std::int64_t step = 1;
  for (std::size_t i = order.size(); i-- > 0;) {
    result[order[i]] = step;
    step = limited_product({step, shape[order[i]]});
  }
  return result;
}

}  // namespace jitterscope::onnx_import
