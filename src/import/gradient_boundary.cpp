#include "import/gradient_boundary.hpp"

#include "import/recorded_arguments.hpp"

namespace jitterscope {
namespace {

constexpr std::size_t kWeight = 2;  // of aten::convolution_backward's arguments

std::vector<std::int64_t> weight_shape(const CalledOperator& convolution) {
  simdjson::dom::parser parser;
  simdjson::dom::array shapes;
  if (parse_part(parser, convolution.arguments)["Input Dims"].get(shapes) != simdjson::SUCCESS) return {};
  simdjson::dom::element shape;
  if (shapes.at(kWeight).get(shape) != simdjson::SUCCESS) return {};
  std::vector<std::int64_t> sizes = integers_of(shape, "Input Dims");
  // Along one dimension PyTorch convolves as along the second of two.
  if (sizes.size() == 3) sizes.insert(sizes.begin() + 2, 1);
  return sizes;
}

bool allocates(const CalledOperator& called, const std::vector<std::int64_t>& shape) {
  if (!called.name.starts_with("aten::empty") || called.arguments.empty()) return false;
  simdjson::dom::parser parser;
  simdjson::dom::array values;
  std::string_view text;
  if (parse_part(parser, called.arguments)["Concrete Inputs"].get(values) != simdjson::SUCCESS) return false;
  if (values.at(0).get(text) != simdjson::SUCCESS) return false;
  const std::optional<AtenArgument> sizes = parse_concrete(text);
  if (!sizes || sizes->elements.size() != shape.size()) return false;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (sizes->elements[i].integer != shape[i]) return false;
  }
  return true;
}

}  // namespace

std::optional<RecordTime> weight_gradient_begin(const ProfilerEvents& events, std::size_t convolution) {
  const CalledOperator& called = events.operators[convolution];
  const std::vector<std::int64_t> shape = weight_shape(called);
  std::optional<RecordTime> begin;
  if (shape.empty()) return begin;
  // The last one: the input's gradient, which comes first, may have the same shape.
  for (std::size_t i = convolution + 1; i < events.operators.size(); ++i) {
    const CalledOperator& child = events.operators[i];
    if (child.thread != called.thread || child.begin > called.end) break;
    if (events.parents[i] == convolution && allocates(child, shape)) begin = child.begin;
  }
  return begin;
}

}  // namespace jitterscope
