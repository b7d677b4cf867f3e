#include "operation/pytorch.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "jitterscope/error.hpp"
#include "operation/aten_text.hpp"
#include "operation/kinds.hpp"
#include "operation/kinds_elementwise.hpp"

namespace jitterscope {
namespace {

bool is_depthwise(const Conv2d& conv) {
  return conv.groups > 1 && conv.groups == conv.c && conv.k % conv.c == 0;
}

// The same as PyTorch's check_cudnn_depthwise_workload_with_filter.
bool is_measured_faster(const Conv2d& conv) {
  if (conv.h == 1 && conv.stride_w == 1) return true;
  const bool known_filter = conv.r == conv.s && (conv.s == 1 || conv.s == 3 || conv.s == 5);
  if (!known_filter || conv.w < 7) return false;
  if (conv.stride_w == 1) return true;
  if (conv.stride_w != 2) return false;
  if (conv.n == 1) return conv.s != 1 || conv.w <= 28;
  if (conv.s == 1) return conv.n <= 16 && conv.c >= 128 && conv.w <= 7;
  return conv.c >= 512 || (conv.c >= 256 && conv.w >= 28);
}

}  // namespace

bool pytorch_runs_in_tf32(const Operation& operation) {
  const auto* conv = std::get_if<Conv2d>(&operation.parameters());
  return conv != nullptr && conv->dtype == DataType::f32 && pytorch_uses_cudnn(*conv);
}

bool pytorch_uses_cudnn(const Conv2d& conv) {
  if (!is_depthwise(conv) || conv.layout == Layout::nhwc) return true;
  const bool may_be = conv.dtype == DataType::f16 && conv.dilation_h == 1 && conv.dilation_w == 1 &&
                      (conv.stride_h == conv.stride_w || conv.h == 1) && conv.c >= 32;
  return may_be && is_measured_faster(conv);
}

bool pytorch_uses_cudnn(const BatchNorm& norm) {
  constexpr std::int64_t kLargestTrainingBatch = 880801, kLargestInferenceBatch = 65535;
  const bool training = norm.pass != Pass::inference;
  const bool half_weights = norm.dtype == DataType::f16 && norm.weights != DataType::f32;
  return norm.dtype != DataType::bf16 && !half_weights &&
         norm.n <= (training ? kLargestTrainingBatch : kLargestInferenceBatch) &&
         norm.n * norm.c * norm.h * norm.w < std::numeric_limits<std::int32_t>::max();
}

bool pytorch_uses_persistent_mode(const BatchNorm& norm) {
  return norm.pass != Pass::inference && norm.layout == Layout::nhwc;
}

bool pytorch_uses_bias_epilogue(const Matmul& matmul) {
  return matmul.bias && matmul.batch == 1 && matmul.n > 1 && matmul.k > 1;
}

namespace {

using Kind = AtenArgument::Kind;
using Shape = std::vector<std::int64_t>;

constexpr double kEpsilon = 1e-5, kMomentum = 0.1;

std::string type_name(DataType dtype) {
  return std::string(to_string(dtype == DataType::tf32 ? DataType::f32 : dtype));
}

/// Returns PyTorch's number of the type.
std::int64_t scalar_type(DataType dtype) {
  switch (dtype) {
    case DataType::f16: return 5;
    case DataType::f64: return 7;
    case DataType::bf16: return 15;
    default: return 6;
  }
}

AtenArgument integer(std::int64_t number) {
  AtenArgument argument;
  argument.kind = Kind::integer;
  argument.integer = number;
  return argument;
}
AtenArgument boolean(bool value) {
  AtenArgument argument;
  argument.kind = Kind::boolean;
  argument.boolean = value;
  return argument;
}

/// Builds an operator call argument by argument. A layer's outputs are in the operator's order.
class OperatorCall {
 public:
  OperatorCall(std::string name, const Operation& layer) : layer_(layer.operands()) {
    aten_.name = std::move(name);
    places_.assign(layer_.size(), kUnknownOperand);
  }

  /// A tensor with memory of its own that is not an operand of the layer.
  OperatorCall& tensor(DataType dtype, const Shape& shape, const Shape& strides = {}) {
    AtenArgument argument;
    argument.kind = Kind::tensor;
    argument.text = type_name(dtype);
    argument.shape = shape;
    if (strides != dense_strides(shape)) argument.strides = strides;
    ++tensors_;
    return add(std::move(argument));
  }
  OperatorCall& operand(std::size_t index, const Shape& shape, const Shape& strides = {}) {
    places_[index] = tensors_;
    return tensor(layer_[index].dtype, shape, strides);
  }
  OperatorCall& integer(std::int64_t number) { return add(jitterscope::integer(number)); }
  OperatorCall& boolean(bool value) { return add(jitterscope::boolean(value)); }
  OperatorCall& none() { return add({}); }
  OperatorCall& real(double number) {
    AtenArgument argument;
    argument.kind = Kind::real;
    argument.real = number;
    return add(std::move(argument));
  }
  OperatorCall& list(const Shape& numbers) {
    AtenArgument argument;
    argument.kind = Kind::list;
    for (const std::int64_t number : numbers) argument.elements.push_back(jitterscope::integer(number));
    return add(std::move(argument));
  }
  /// A list of three `true`: all gradients are wanted.
  OperatorCall& all_gradients() {
    AtenArgument argument;
    argument.kind = Kind::list;
    argument.elements.assign(3, jitterscope::boolean(true));
    return add(std::move(argument));
  }
  LayerAten finish() {
    aten_.argument_names.resize(aten_.arguments.size());
    for (std::size_t i = 0; i < layer_.size(); ++i) {
      if (layer_[i].role == OperandRole::output) places_[i] = tensors_++;
    }
    return {Operation(std::move(aten_)), std::move(places_)};
  }

 private:
  OperatorCall& add(AtenArgument argument) {
    aten_.arguments.push_back(std::move(argument));
    return *this;
  }

  Aten aten_;
  std::vector<Operand> layer_;
  std::vector<std::size_t> places_;
  std::size_t tensors_ = 0;
};

/// Sizes and strides of a tensor of n images.
struct Images {
  Shape shape, strides;

  Images(std::int64_t n, std::int64_t c, std::int64_t h, std::int64_t w, Layout layout)
      : shape{n, c, h, w},
        strides{layout == Layout::nhwc ? Shape{h * w * c, 1, w * c, c} : dense_strides(shape)} {}
};

std::optional<LayerAten> convert(const Elementwise& shape) {
  const auto& [name, numbers] = pytorch_operator(shape.kind);
  if (name.empty()) return std::nullopt;
  const Operation layer(shape);
  OperatorCall call(name, layer);
  for (std::size_t input = 0; input + 1 < layer.operands().size(); ++input)
    call.operand(input, {shape.count});
  for (const std::int64_t number : numbers) call.integer(number);
  return call.finish();
}

std::optional<LayerAten> convert(const Softmax& shape) {
  const Operation layer(shape);
  const Shape matrix = {shape.rows, shape.columns};
  const std::string name = shape.logarithm ? "aten::_log_softmax" : "aten::_softmax";
  if (shape.pass != Pass::backward)
    return OperatorCall(name, layer).operand(0, matrix).integer(1).boolean(false).finish();
  return OperatorCall(name + "_backward_data", layer)
      .operand(0, matrix)
      .operand(1, matrix)
      .integer(1)
      .integer(scalar_type(shape.dtype))
      .finish();
}

std::optional<LayerAten> convert(const LayerNorm& shape) {
  const Operation layer(shape);
  const Shape matrix = {shape.rows, shape.columns}, row = {shape.columns}, statistics = {shape.rows, 1};
  if (shape.pass != Pass::backward) {
    OperatorCall call("aten::native_layer_norm", layer);
    return call.operand(0, matrix).list(row).operand(1, row).operand(2, row).real(kEpsilon).finish();
  }
  OperatorCall call("aten::native_layer_norm_backward", layer);
  call.operand(0, matrix).operand(1, matrix).list(row).operand(2, statistics).operand(3, statistics);
  // Only the bias's size counts; it is not one of the layer's operands.
  return call.operand(4, row).tensor(shape.dtype, row).all_gradients().finish();
}

std::optional<LayerAten> convert(const BatchNorm& shape) {
  const Operation layer(shape);
  const auto [tensor, strides] = Images(shape.n, shape.c, shape.h, shape.w, shape.layout);
  const Shape channels = {shape.c};
  const DataType statistics = kinds::statistics_type(shape.dtype);
  if (shape.pass == Pass::backward) {
    OperatorCall call("aten::native_batch_norm_backward", layer);
    call.operand(1, tensor, strides).operand(0, tensor, strides).operand(2, channels);
    call.tensor(statistics, channels).tensor(statistics, channels);  // the running averages
    return call.operand(3, channels)
        .operand(4, channels)
        .boolean(true)
        .real(kEpsilon)
        .all_gradients()
        .finish();
  }
  OperatorCall call("aten::native_batch_norm", layer);
  const bool training = shape.pass == Pass::forward;
  call.operand(0, tensor, strides).operand(1, channels).operand(2, channels);
  if (training) {
    call.tensor(statistics, channels).tensor(statistics, channels);
  } else {
    call.operand(3, channels).operand(4, channels);
  }
  return call.boolean(training).real(kMomentum).real(kEpsilon).finish();
}

std::optional<LayerAten> convert(const BiasAdd& shape) {
  const auto [tensor, strides] = Images(shape.n, shape.c, shape.h, shape.w, shape.layout);
  return OperatorCall("aten::add.Tensor", Operation(shape))
      .operand(0, tensor, strides)
      .operand(1, {1, shape.c, 1, 1})
      .integer(1)
      .finish();
}

std::optional<LayerAten> convert(const Embedding& shape) {
  const Operation layer(shape);
  const Shape indices = {shape.count}, table = {shape.rows, shape.columns};
  if (shape.pass != Pass::backward) {
    return OperatorCall("aten::embedding", layer).operand(1, table).operand(0, indices).finish();
  }
  OperatorCall call("aten::embedding_dense_backward", layer);
  call.operand(0, {shape.count, shape.columns}).operand(1, indices);
  return call.integer(shape.rows).integer(-1).boolean(false).finish();
}

bool is_whole_plane(const Pool2d& pool) {
  return pool.out_h() == 1 && pool.out_w() == 1 && pool.window_h == pool.h && pool.window_w == pool.w;
}

void add_windows(OperatorCall& call, const Pool2d& pool) {
  call.list({pool.window_h, pool.window_w})
      .list({pool.stride_h, pool.stride_w})
      .list({pool.pad_h, pool.pad_w});
}

LayerAten max_pool(const Pool2d& pool, const Images& x, const Images& y) {
  const bool backward = pool.pass == Pass::backward;
  OperatorCall call(backward ? "aten::max_pool2d_with_indices_backward" : "aten::max_pool2d_with_indices",
                    Operation(pool));
  if (backward) {
    call.operand(0, y.shape, y.strides).tensor(pool.dtype, x.shape, x.strides);
  } else {
    call.operand(0, x.shape, x.strides);
  }
  add_windows(call, pool);
  call.list({1, 1}).boolean(false);
  if (backward) call.operand(1, y.shape, y.strides);
  return call.finish();
}

// A pool over whole planes is run as AdaptiveAvgPool2d(1), which networks use for it: a mean, and backward
// each element's share of the gradient. The latter's layout is NCHW whatever the planes' layout.
LayerAten average_pool(const Pool2d& pool, const Images& x, const Images& y) {
  if (pool.pass != Pass::backward) {
    if (is_whole_plane(pool)) {
      return OperatorCall("aten::mean.dim", Operation(pool))
          .operand(0, x.shape, x.strides)
          .list({-1, -2})
          .boolean(true)
          .finish();
    }
    OperatorCall call("aten::avg_pool2d", Operation(pool));
    call.operand(0, x.shape, x.strides);
    add_windows(call, pool);
    return call.boolean(false).boolean(true).none().finish();
  }
  if (is_whole_plane(pool) && pool.layout == Layout::nchw) {
    return OperatorCall("aten::div.Scalar", Operation(pool))
        .operand(0, x.shape, {pool.c, 1, 0, 0})
        .integer(pool.h * pool.w)
        .finish();
  }
  OperatorCall call("aten::avg_pool2d_backward", Operation(pool));
  call.operand(0, y.shape, y.strides).tensor(pool.dtype, x.shape, x.strides);
  add_windows(call, pool);
  return call.boolean(false).boolean(true).none().finish();
}

std::optional<LayerAten> convert(const Pool2d& pool) {
  const Images x(pool.n, pool.c, pool.h, pool.w, pool.layout);
  const Images y(pool.n, pool.c, pool.out_h(), pool.out_w(), pool.layout);
  return pool.kind == PoolKind::max ? max_pool(pool, x, y) : average_pool(pool, x, y);
}

template <class Other>
std::optional<LayerAten> convert(const Other&) {
  return std::nullopt;
}

}  // namespace

std::optional<LayerAten> aten_of_layer(const Operation& layer) {
  return std::visit([](const auto& shape) { return convert(shape); }, layer.parameters());
}

// Operators of PyTorch: checks and normal form.

namespace {

using ArgumentKind = AtenArgument::Kind;

constexpr std::size_t kMostDimensions = 64;  // PyTorch's own limit
constexpr std::size_t kDeepestList = 8;      // the parser's

void check_name(const Aten& aten) {
  const std::string_view name = aten.name;
  const std::size_t colons = std::min(name.find("::"), name.size());
  const std::size_t dot = std::min(name.find('.', colons), name.size());
  const bool named = colons + 2 <= dot && is_identifier(name.substr(0, colons)) &&
                     is_identifier(name.substr(colons + 2, dot - colons - 2));
  if (named && (dot == name.size() || is_identifier(name.substr(dot + 1)))) return;
  throw UsageError(
      fmt::format("aten: {} is not an operator's name: they are written aten::add.Tensor, or aten::relu",
                  in_quotes(name)));
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
  std::int64_t extent = 1, count = 1;  // the last element's position; number of elements, with expanded ones
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
      throw UsageError(fmt::format("{}: {} is not an argument's name", aten.name, in_quotes(name)));
    const auto end = aten.argument_names.begin() + static_cast<std::ptrdiff_t>(i);
    if (std::find(aten.argument_names.begin(), end, name) != end)
      throw UsageError(fmt::format("{}: the argument {} is given twice", aten.name, in_quotes(name)));
  }
}

// Counts each element once, also in a tensor that is expanded with strides of zero.
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
namespace {

void describe(Aten&, Fields& fields) {
  if (fields.reader() == nullptr) return;
  fields.reader()->fail("an operator of PyTorch is written aten::NAME(ARGUMENTS)");
}

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

}  // namespace

Bytes bytes(const Aten& aten) {
  std::int64_t total = 0;
  for (const AtenArgument& argument : aten.arguments)
    total = std::min(total + stored_bytes(argument), kLargestOperandBytes + 1);
  return Bytes(total);
}

const KindOf<Aten>& kind_of(const Aten&) {
  static const KindOf<Aten> kind = {
      .words =
          {{"aten",
            "any operator of PyTorch, with PyTorch's own kernels, by its schema's name and arguments: tensors as "
            "f32[8,16] (strides in braces: f32[8,16]{1,8}), numbers, true, false, None, \"text\", [lists]",
            "aten::add.Tensor(f32[8,16],f32[8,16]{1,8},alpha=2)"}},
      .describe = describe,
      .normalize = normalize,
      .check = check,
      .text = aten_text};
  return kind;
}

}  // namespace kinds
}  // namespace jitterscope
