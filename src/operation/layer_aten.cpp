#include "operation/layer_aten.hpp"

#include <string>
#include <utility>

#include "operation/aten_text.hpp"
#include "operation/statistics_type.hpp"

namespace jitterscope {
namespace {

using Kind = AtenArgument::Kind;
using Shape = std::vector<std::int64_t>;

constexpr double kEpsilon = 1e-5, kMomentum = 0.1;

std::string type_name(DataType dtype) {
  return std::string(to_string(dtype == DataType::tf32 ? DataType::f32 : dtype));
}

/// As PyTorch numbers them.
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

/// Arguments one after the other. A layer's outputs follow each other as the operator's do.
class OperatorCall {
 public:
  OperatorCall(std::string name, const Operation& layer) : layer_(layer.operands()) {
    aten_.name = std::move(name);
    places_.assign(layer_.size(), kUnknownOperand);
  }

  /// A tensor with memory of its own, which is no operand of the layer.
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
  /// Which gradients are wanted: three, all of them.
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

/// An operator and the numbers behind its tensors.
struct ElementwiseOperator {
  const char* name;
  std::vector<std::int64_t> numbers = {};
};
// By ElementwiseKind. A fill stands in for nothing.
const ElementwiseOperator kElementwise[] = {{nullptr},
                                            {"aten::add.Tensor", {1}},
                                            {"aten::mul.Tensor"},
                                            {"aten::relu"},
                                            {"aten::hardtanh", {0, 6}},
                                            {"aten::sigmoid"},
                                            {"aten::tanh"},
                                            {"aten::silu"},
                                            {"aten::gelu"},
                                            {"aten::threshold_backward", {0}},
                                            {"aten::hardtanh_backward", {0, 6}},
                                            {"aten::sigmoid_backward"},
                                            {"aten::tanh_backward"},
                                            {"aten::silu_backward"},
                                            {"aten::gelu_backward"}};

std::optional<LayerAten> convert(const Elementwise& shape) {
  const auto& [name, numbers] = kElementwise[static_cast<std::size_t>(shape.kind)];
  if (name == nullptr) return std::nullopt;
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
  // The bias, of which only the size counts, is none of the layer's operands.
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

// Over whole planes as AdaptiveAvgPool2d(1), by which networks have it: a mean, and each element's share of
// the gradient. That one's layout is NCHW whatever the planes' is.
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

}  // namespace jitterscope
