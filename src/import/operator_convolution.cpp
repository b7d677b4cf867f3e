#include <algorithm>
#include <tuple>

#include "import/operator_conversion.hpp"
#include "operation/pytorch.hpp"

// Converts convolutions (by aten/src/ATen/native/Convolution.cpp and cudnn/ConvShared.cpp) and pooling.

namespace jitterscope {
namespace {

using Pair = std::pair<std::int64_t, std::int64_t>;

// Follows cudnn_conv_suggest_memory_format: doubles are always nchw.
Layout convolution_layout(const AtenArgument& a, const AtenArgument& b) {
  if (native_type(a) == DataType::f64) return Layout::nchw;
  const bool nhwc = suggested_layout(a) == Layout::nhwc || suggested_layout(b) == Layout::nhwc;
  return nhwc ? Layout::nhwc : Layout::nchw;
}

// Returns the convolution of this input and weight; the caller sets data type and layout.
Conv2d problem_of(const std::vector<std::int64_t>& input, const AtenArgument& weight,
                  const Arguments& arguments) {
  require_native(input.size() == 4 && weight.shape.size() == 4);
  Conv2d conv;
  conv.groups = arguments.integer("groups");
  conv.n = input[0], conv.c = input[1], conv.h = input[2], conv.w = input[3];
  conv.k = weight.shape[0], conv.r = weight.shape[2], conv.s = weight.shape[3];
  require_native(conv.groups > 0 && conv.c % conv.groups == 0 && conv.c / conv.groups == weight.shape[1]);
  std::tie(conv.stride_h, conv.stride_w) = arguments.pair("stride");
  std::tie(conv.pad_h, conv.pad_w) = arguments.pair("padding");
  std::tie(conv.dilation_h, conv.dilation_w) = arguments.pair("dilation");
  return conv;
}

DataType convolution_type(const AtenArgument& tensor, const ConversionContext& context) {
  const DataType type = native_type(tensor);
  return type == DataType::f32 && context.allow_tf32 && context.on_gpu ? kPytorchConvolutionOfF32 : type;
}

// A damaged record may hold sizes whose sums overflow; no tensor has this size in one dimension.
bool is_possible_size(std::int64_t size) { return size >= 0 && size < (std::int64_t{1} << 31); }

std::int64_t transposed_size(std::int64_t size, std::int64_t filter, std::int64_t stride, std::int64_t pad,
                             std::int64_t dilation, std::int64_t output_padding) {
  for (const std::int64_t number : {size, filter, stride, pad, dilation, output_padding}) {
    require_native(is_possible_size(number));
  }
  require_native(size > 0 && filter > 0 && dilation < 65536 && filter < 65536 && stride < 65536);
  return (size - 1) * stride - 2 * pad + dilation * (filter - 1) + 1 + output_padding;
}

// Layouts in which cuDNN computes the two gradients. If the weight's is wanted, _convolution_backward makes
// the input contiguous in input's and weight's layout; then the input's gradient follows the input's.
struct GradientLayouts {
  Layout dgrad, wgrad;
};
GradientLayouts gradient_layouts(const AtenArgument& input, const AtenArgument& weight, bool wants_wgrad) {
  const Layout together = convolution_layout(input, weight);
  const Layout gradient = wants_wgrad ? together : convolution_layout(input, input);
  return {gradient == Layout::nhwc ? Layout::nhwc : convolution_layout(weight, weight), gradient};
}

struct Gradients {
  Conv2d problem;
  bool transposed = false;
  std::vector<bool> mask;  ///< wanted gradients: input, weight, bias
};

Gradients read_gradients(const Arguments& arguments) {
  Gradients gradients;
  gradients.transposed = arguments.boolean("transposed");
  gradients.mask = arguments.booleans("output_mask");
  require_native(gradients.mask.size() == 3);
  // A transposed convolution is the input gradient of the convolution from its output to its input.
  const AtenArgument& source = arguments.tensor(gradients.transposed ? "grad_output" : "input");
  const AtenArgument& output = arguments.tensor(gradients.transposed ? "input" : "grad_output");
  gradients.problem = problem_of(source.shape, arguments.tensor("weight"), arguments);
  require_native(output.shape.size() == 4 && output.shape[1] == gradients.problem.k);
  return gradients;
}

// PyTorch runs a 1D convolution as a 2D one along the second dimension, and makes its inputs contiguous.
void view_as_two_dimensional(AtenArgument& tensor) {
  if (tensor.kind != AtenArgument::Kind::tensor || tensor.shape.size() != 3) return;
  tensor.shape.insert(tensor.shape.begin() + 2, 1);
  tensor.strides.clear();
}
void view_as_two_dimensional(AtenArgument& sides, std::int64_t of_first) {
  if (sides.elements.size() != 1) return;
  AtenArgument first = sides.elements.front();
  first.integer = of_first;
  sides.elements.insert(sides.elements.begin(), first);
}
RecordedOperator viewed_as_two_dimensional(RecordedOperator recorded) {
  const Arguments arguments(recorded);
  if (arguments.tensor("weight").shape.size() != 3) return recorded;
  for (std::size_t i = 0; i < std::min(recorded.argument_names.size(), recorded.arguments.size()); ++i) {
    const std::string& name = recorded.argument_names[i];
    AtenArgument& value = recorded.arguments[i].value;
    view_as_two_dimensional(value);
    if (name == "stride" || name == "dilation") view_as_two_dimensional(value, 1);
    if (name == "padding" || name == "output_padding") view_as_two_dimensional(value, 0);
  }
  return recorded;
}

// Returns the operator with one gradient wanted, because each is timed alone.
Operation with_mask(const RecordedOperator& recorded, std::size_t wanted) {
  Aten aten = aten_of(recorded);
  const std::vector<std::string>& names = recorded.argument_names;
  const auto index = std::find(names.begin(), names.end(), "output_mask") - names.begin();
  std::vector<AtenArgument>& mask = aten.arguments.at(static_cast<std::size_t>(index)).elements;
  for (std::size_t i = 0; i < mask.size(); ++i) mask[i].boolean = i == wanted;
  return Operation(std::move(aten));
}

ConvertedOperation input_gradient(const Gradients& gradients, const Arguments& arguments) {
  Conv2d conv = gradients.problem;
  conv.direction = gradients.transposed ? Direction::fprop : Direction::dgrad;
  const bool transposed = gradients.transposed;
  ConvertedOperation result =
      as_operation(conv, arguments,
                   {{transposed ? "x" : "dy", "grad_output"}, {"w", "weight"}, {transposed ? "y" : "dx", 0}});
  result.aten = with_mask(arguments.recorded(), 0);
  result.part = "dgrad";
  return result;
}

ConvertedOperation weight_gradient(const Gradients& gradients, const Arguments& arguments) {
  Conv2d conv = gradients.problem;
  conv.direction = Direction::wgrad;
  const TensorPlace x = gradients.transposed ? "grad_output" : "input";
  const TensorPlace dy = gradients.transposed ? "input" : "grad_output";
  ConvertedOperation result = as_operation(conv, arguments, {{"x", x}, {"dy", dy}, {"dw", 1}});
  result.aten = with_mask(arguments.recorded(), 1);
  result.part = "wgrad";
  return result;
}

}  // namespace

Converted convert_convolution(const Arguments& arguments, ConversionContext& context) {
  const AtenArgument &input = arguments.tensor("self"), &weight = arguments.tensor("weight");
  context.allow_tf32 = arguments.boolean_or("allow_tf32", context.allow_tf32);
  Conv2d conv = problem_of(input.shape, weight, arguments);
  conv.dtype = convolution_type(input, context);
  conv.layout = convolution_layout(input, weight);
  return {as_operation(conv, arguments, {{"x", "self"}, {"w", "weight"}, {"y", 0}})};
}

Converted convert_transposed_convolution(const Arguments& arguments, ConversionContext& context) {
  const AtenArgument &input = arguments.tensor("self"), &weight = arguments.tensor("weight");
  context.allow_tf32 = arguments.boolean_or("allow_tf32", context.allow_tf32);
  require_native(input.shape.size() == 4 && weight.shape.size() == 4);
  const Pair stride = arguments.pair("stride"), pad = arguments.pair("padding");
  const Pair dilation = arguments.pair("dilation"), extra = arguments.pair("output_padding");
  const std::int64_t groups = arguments.integer("groups");
  require_native(is_possible_size(weight.shape[1]) && is_possible_size(groups));
  const std::vector<std::int64_t> output = {
      input.shape[0], weight.shape[1] * groups,
      transposed_size(input.shape[2], weight.shape[2], stride.first, pad.first, dilation.first, extra.first),
      transposed_size(input.shape[3], weight.shape[3], stride.second, pad.second, dilation.second,
                      extra.second)};
  Conv2d conv = problem_of(output, weight, arguments);
  require_native(conv.k == input.shape[1]);
  conv.dtype = convolution_type(input, context);
  conv.layout = convolution_layout(input, weight);
  conv.direction = Direction::dgrad;
  return {as_operation(conv, arguments, {{"dy", "self"}, {"w", "weight"}, {"dx", 0}})};
}

Converted convert_convolution_backward(const Arguments& recorded, ConversionContext& context) {
  const RecordedOperator viewed = viewed_as_two_dimensional(recorded.recorded());
  const Arguments arguments(viewed);
  Gradients gradients = read_gradients(arguments);
  const AtenArgument &input = arguments.tensor("input"), &weight = arguments.tensor("weight");
  gradients.problem.dtype = convolution_type(input, context);
  gradients.problem.layout = convolution_layout(input, weight);
  require_native(gradients.transposed || pytorch_uses_cudnn(gradients.problem));
  const GradientLayouts layouts = gradient_layouts(input, weight, gradients.mask[1]);
  Converted result;
  if (gradients.mask[0]) {
    gradients.problem.layout = layouts.dgrad;
    result.push_back(input_gradient(gradients, recorded));
  }
  if (gradients.mask[1]) {
    gradients.problem.layout = layouts.wgrad;
    result.push_back(weight_gradient(gradients, recorded));
  }
  require_native(!result.empty());
  return result;
}

bool leave_bias_gradient_out(RecordedOperator& recorded) {
  constexpr std::size_t kBias = 2;
  const std::vector<std::string>& names = recorded.argument_names;
  const auto place =
      static_cast<std::size_t>(std::find(names.begin(), names.end(), "output_mask") - names.begin());
  if (recorded.name != "aten::convolution_backward" || place >= recorded.arguments.size()) return true;
  std::vector<AtenArgument>& mask = recorded.arguments[place].value.elements;
  if (mask.size() != kBias + 1) return true;
  mask[kBias].boolean = false;
  return mask[0].boolean || mask[1].boolean;
}

// Pooling over windows, and over the whole image.

namespace {

Pool2d pool_of(const AtenArgument& input, PoolKind kind) {
  require_native(input.shape.size() == 4);
  const std::optional<Layout> layout = dense_layout(input);
  require_native(layout.has_value());
  Pool2d pool;
  pool.kind = kind;
  pool.n = input.shape[0], pool.c = input.shape[1], pool.h = input.shape[2], pool.w = input.shape[3];
  pool.dtype = native_type(input);
  pool.layout = *layout;
  return pool;
}

void read_window(Pool2d& pool, const Arguments& arguments) {
  std::tie(pool.window_h, pool.window_w) = arguments.pair("kernel_size");
  pool.stride_h = pool.window_h, pool.stride_w = pool.window_w;  // the default for an empty stride
  if (!arguments.integers("stride").empty()) {
    std::tie(pool.stride_h, pool.stride_w) = arguments.pair("stride");
  }
  std::tie(pool.pad_h, pool.pad_w) = arguments.pair("padding");
  require_native(!arguments.boolean("ceil_mode"));
}

Pool2d max_pool_of(const Arguments& arguments) {
  Pool2d pool = pool_of(arguments.tensor("self"), PoolKind::max);
  read_window(pool, arguments);
  require_native(arguments.pair("dilation") == std::pair<std::int64_t, std::int64_t>(1, 1));
  return pool;
}

Pool2d average_pool_of(const Arguments& arguments) {
  Pool2d pool = pool_of(arguments.tensor("self"), PoolKind::average);
  read_window(pool, arguments);
  const bool padded = pool.pad_h != 0 || pool.pad_w != 0;
  require_native(!padded || arguments.boolean("count_include_pad"));
  const RecordedArgument* divisor = arguments.find("divisor_override");
  require_native(divisor == nullptr || divisor->value.kind == AtenArgument::Kind::none);
  return pool;
}

// Windows have one size and do not overlap if the output's size divides the input's.
Pool2d adaptive_pool_of(const AtenArgument& input, std::int64_t out_h, std::int64_t out_w) {
  Pool2d pool = pool_of(input, PoolKind::average);
  require_native(out_h > 0 && out_w > 0 && pool.h % out_h == 0 && pool.w % out_w == 0);
  pool.window_h = pool.stride_h = pool.h / out_h;
  pool.window_w = pool.stride_w = pool.w / out_w;
  return pool;
}

Converted forward(const Pool2d& pool, const Arguments& arguments) {
  return {as_operation(pool, arguments, {{"x", "self"}, {"y", 0}, {"indices", 1}})};
}

Converted backward(Pool2d pool, const Arguments& arguments) {
  pool.pass = Pass::backward;
  return {as_operation(pool, arguments, {{"dy", "grad_output"}, {"indices", "indices"}, {"dx", 0}})};
}

}  // namespace

Converted convert_max_pool(const Arguments& arguments, ConversionContext&) {
  return forward(max_pool_of(arguments), arguments);
}

Converted convert_max_pool_backward(const Arguments& arguments, ConversionContext&) {
  return backward(max_pool_of(arguments), arguments);
}

Converted convert_average_pool(const Arguments& arguments, ConversionContext&) {
  return forward(average_pool_of(arguments), arguments);
}

Converted convert_average_pool_backward(const Arguments& arguments, ConversionContext&) {
  return backward(average_pool_of(arguments), arguments);
}

Converted convert_adaptive_pool(const Arguments& arguments, ConversionContext&) {
  const auto [height, width] = arguments.pair("output_size");
  return forward(adaptive_pool_of(arguments.tensor("self"), height, width), arguments);
}

Converted convert_adaptive_pool_backward(const Arguments& arguments, ConversionContext&) {
  const AtenArgument& gradient = arguments.tensor("grad_output");
  require_native(gradient.shape.size() == 4);
  const Pool2d pool = adaptive_pool_of(arguments.tensor("self"), gradient.shape[2], gradient.shape[3]);
  return backward(pool, arguments);
}

// adaptive_avg_pool2d to one element calls mean over height and width.
Converted convert_mean(const Arguments& arguments, ConversionContext&) {
  std::vector<std::int64_t> dimensions = arguments.integers("dim");
  for (std::int64_t& dimension : dimensions) dimension += dimension < 0 ? 4 : 0;
  std::sort(dimensions.begin(), dimensions.end());
  const AtenArgument& input = arguments.tensor("self");
  const RecordedArgument* type = arguments.find("dtype");
  require_native(input.shape.size() == 4 && dimensions == std::vector<std::int64_t>({2, 3}));
  require_native(type == nullptr || type->value.kind == AtenArgument::Kind::none);
  return forward(adaptive_pool_of(input, 1, 1), arguments);
}

}  // namespace jitterscope
