#include "model/layers.hpp"

#include <fmt/format.h>

#include "operation/pytorch.hpp"

namespace jitterscope {
namespace {

constexpr const char* kNoKindOfCopy = "jitterscope has no operation for a copy that changes the order";

}  // namespace

Layers::Layers(Network& network, const ModelOptions& options, std::int64_t batch)
    : network_(network),
      types_(data_types_of(options)),
      layout_(options.layout.value_or(Layout::nchw)),
      batch_(batch) {}

Maps Layers::images(std::int64_t channels, std::int64_t size) {
  return {network_.input(batch_ * channels * size * size, types_.other), channels, size, size};
}

Maps Layers::add_bias(const std::string& name, const Maps& x) {
  const BiasAdd bias{batch_, x.c, x.h, x.w, types_.other, layout_};
  return {network_.add(name + ".bias", bias, {x.tensor}), x.c, x.h, x.w};
}

Maps Layers::convolution(const std::string& name, const Maps& x, const ConvolutionShape& shape) {
  Conv2d conv{.n = batch_, .c = x.c, .h = x.h, .w = x.w, .k = shape.out};
  conv.r = conv.s = shape.kernel;
  conv.stride_h = conv.stride_w = shape.stride;
  conv.pad_h = conv.pad_w = shape.pad;
  conv.groups = shape.groups;
  conv.dtype = types_.convolution;
  conv.layout = layout_;
  const Maps y{network_.add(name, conv, {x.tensor}), conv.k, conv.out_h(), conv.out_w()};
  return shape.bias ? add_bias(name, y) : y;
}

Maps Layers::doubling_convolution(const std::string& name, const Maps& x, std::int64_t out) {
  Conv2d mirror{.n = batch_, .c = out, .h = 2 * x.h, .w = 2 * x.w, .k = x.c, .r = 2, .s = 2};
  mirror.stride_h = mirror.stride_w = 2;
  mirror.dtype = types_.convolution;
  mirror.layout = layout_;
  mirror.direction = Direction::dgrad;
  return add_bias(name, {network_.add(name, mirror, {x.tensor}), out, mirror.h, mirror.w});
}

Maps Layers::batch_norm(const std::string& name, const Maps& x) {
  network_.skip({"aten::add_", "", "the number of batches that a batch norm counts is one integer"});
  const DataType weights = kinds::converted_weights_type(types_.other);
  const BatchNorm norm{batch_, x.c, x.h, x.w, types_.other, layout_, Pass::forward, weights};
  return {network_.add(name, norm, {x.tensor}), x.c, x.h, x.w};
}

Maps Layers::activation(const std::string& name, const Maps& x, ElementwiseKind kind) {
  return {activation(name, x.tensor, kind), x.c, x.h, x.w};
}

Maps Layers::relu6_in_place(const std::string& name, const Maps& x) {
  const std::int64_t bytes = network_.facts(x.tensor).count * element_size(types_.other).value();
  const Tensor kept = network_.add(name + ".clone", Copy{bytes, CopyKind::d2d}, {x.tensor});
  return activation(name, {kept, x.c, x.h, x.w}, ElementwiseKind::relu6);
}

Maps Layers::max_pool(const std::string& name, const Maps& x, std::int64_t window, std::int64_t stride,
                      std::int64_t pad) {
  const Pool2d pool{PoolKind::max, batch_, x.c, x.h, x.w,          window,  window,
                    stride,        stride, pad, pad, types_.other, layout_, Pass::forward};
  return {network_.add(name, pool, {x.tensor}), x.c, pool.out_h(), pool.out_w()};
}

Maps Layers::average_pool_to(const std::string& name, const Maps& x, std::int64_t side) {
  if (x.h % side != 0 || x.w % side != 0) {
    const Network::UntimedStep step{"aten::_adaptive_avg_pool2d", "aten::_adaptive_avg_pool2d_backward",
                                    "its windows differ in size, for which jitterscope has no operation"};
    const std::int64_t count = batch_ * x.c * side * side;
    return {network_.add_untimed(name, step, {x.tensor}, count), x.c, side, side};
  }
  Pool2d pool{PoolKind::average, batch_, x.c, x.h, x.w};
  pool.window_h = pool.stride_h = x.h / side;
  pool.window_w = pool.stride_w = x.w / side;
  pool.dtype = types_.other;
  pool.layout = layout_;
  return {network_.add(name, pool, {x.tensor}), x.c, side, side};
}

Maps Layers::add_in_place(const std::string& name, const Maps& a, const Maps& b) {
  const Elementwise sum{ElementwiseKind::add, network_.facts(a.tensor).count, types_.other};
  return {network_.add_in_place(name, sum, {a.tensor, b.tensor}), a.c, a.h, a.w};
}

Maps Layers::add(const std::string& name, const Maps& a, const Maps& b) {
  return {add(name, a.tensor, b.tensor), a.c, a.h, a.w};
}

Tensor Layers::flatten(const std::string& name, const Maps& x) {
  if (layout_ == Layout::nchw || x.h * x.w == 1) return x.tensor;
  const Network::UntimedStep step{"aten::clone", "aten::clone", kNoKindOfCopy};
  return network_.add_untimed(name, step, {x.tensor}, network_.facts(x.tensor).count);
}

Tensor Layers::linear(const std::string& name, Tensor x, std::int64_t rows, std::int64_t in,
                      std::int64_t out) {
  return network_.add(name, Linear{rows, in, out, true, types_.product}, {x});
}

Tensor Layers::layer_norm(const std::string& name, Tensor x, std::int64_t rows, std::int64_t columns) {
  return network_.add(name, LayerNorm{rows, columns, types_.other, Pass::forward}, {x});
}

Tensor Layers::activation(const std::string& name, Tensor x, ElementwiseKind kind) {
  const Elementwise shape{kind, network_.facts(x).count, types_.other};
  // torchvision's ReLUs all run in place; backward needs only their output.
  return kind == ElementwiseKind::relu ? network_.add_in_place(name, shape, {x})
                                       : network_.add(name, shape, {x});
}

Tensor Layers::add(const std::string& name, Tensor a, Tensor b) {
  const std::int64_t count = network_.facts(a).count;
  return network_.add(name, Elementwise{ElementwiseKind::add, count, types_.other}, {a, b});
}

Tensor Layers::add_to_rows(const std::string& name, Tensor x, std::int64_t rows, std::int64_t columns,
                           const std::vector<Tensor>& added) {
  std::vector<Tensor> inputs = {x};
  inputs.insert(inputs.end(), added.begin(), added.end());
  return network_.add(name, BiasAdd{rows, columns, 1, 1, types_.other}, inputs);
}

Tensor Layers::dropout(Tensor x) {
  network_.skip({"aten::native_dropout", "aten::native_dropout_backward",
                 "it draws random numbers, for which jitterscope has no operation"});
  return x;
}

void Layers::cross_entropy(Tensor x, std::int64_t rows, std::int64_t classes) {
  const Tensor logarithms =
      network_.add("loss.log_softmax", Softmax{true, rows, classes, types_.other, Pass::forward}, {x});
  network_.loss("aten::nll_loss", logarithms, "jitterscope has no operation for the loss of the labels");
}

std::int64_t axis_or(const ModelOptions& options, const std::string& axis, std::int64_t otherwise) {
  const auto found = options.axes.find(axis);
  return found == options.axes.end() ? otherwise : found->second;
}

std::string precision_text(const ModelOptions& options, bool has_convolutions) {
  const DataTypes types = data_types_of(options);
  const bool convolutions_apart = has_convolutions && types.convolution != types.other;
  const bool products_apart = types.product != types.other;
  if (!convolutions_apart && !products_apart) return fmt::format("in {}", to_string(types.other));
  const char* apart = !products_apart    ? "convolutions"
                      : has_convolutions ? "convolutions and products"
                                         : "products";
  return fmt::format("{} in tf32, all else in {}", apart, to_string(types.other));
}

namespace {

constexpr std::int64_t kClassifierBatch = 32, kSize = 224, kClasses = 1000;

std::string description(const std::string& name, const ModelOptions& options) {
  const std::int64_t size = axis_or(options, "size", kSize);
  return fmt::format("torchvision's {} as PyTorch trains it: batch {}, images of {}x{}, {}", name,
                     options.batch.value_or(kClassifierBatch), size, size, precision_text(options));
}

}  // namespace

Classifier::Classifier(const std::string& name, const ModelOptions& options)
    : size_(axis_or(options, "size", kSize)),
      network_(name, description(name, options)),
      layers_(network_, options, options.batch.value_or(kClassifierBatch)) {}

void Classifier::classify(const std::string& name, Tensor features, std::int64_t count) {
  const Tensor classes = layers_.linear(name, features, layers_.batch(), count, kClasses);
  layers_.cross_entropy(classes, layers_.batch(), kClasses);
}

}  // namespace jitterscope
