#include <utility>

#include <fmt/format.h>

#include "jitterscope/error.hpp"
#include "operation/kinds.hpp"
#include "operation/pytorch.hpp"

namespace jitterscope {
namespace {

// Returns the extent of a filter with gaps between its elements.
std::int64_t spread(std::int64_t filter, std::int64_t dilation) { return dilation * (filter - 1) + 1; }

std::int64_t out_size(std::int64_t in, std::int64_t filter, std::int64_t stride, std::int64_t pad,
                      std::int64_t dilation) {
  return (in + 2 * pad - spread(filter, dilation)) / stride + 1;
}

}  // namespace

std::int64_t Conv2d::out_h() const { return out_size(h, r, stride_h, pad_h, dilation_h); }
std::int64_t Conv2d::out_w() const { return out_size(w, s, stride_w, pad_w, dilation_w); }
std::int64_t Pool2d::out_h() const { return (h + 2 * pad_h - window_h) / stride_h + 1; }
std::int64_t Pool2d::out_w() const { return (w + 2 * pad_w - window_w) / stride_w + 1; }

}  // namespace jitterscope

namespace jitterscope::kinds {
namespace {

std::string sides(std::int64_t height, std::int64_t width) { return fmt::format("{}x{}", height, width); }

void check_filter_fits(const Conv2d& conv) {
  const std::int64_t padded_h = conv.h + 2 * conv.pad_h, padded_w = conv.w + 2 * conv.pad_w;
  if (spread(conv.r, conv.dilation_h) <= padded_h && spread(conv.s, conv.dilation_w) <= padded_w) return;
  const std::string dilation = conv.dilation_h == conv.dilation_w ? std::to_string(conv.dilation_h)
                                                                  : sides(conv.dilation_h, conv.dilation_w);
  throw UsageError(
      fmt::format("conv2d: the {} filter with dilation {} is larger than the padded {} input; make hw or "
                  "pad larger, or rs or dilation smaller",
                  sides(conv.r, conv.s), dilation, sides(padded_h, padded_w)));
}

void check_groups(const Conv2d& conv) {
  for (const auto& [name, channels] : {std::pair{"c", conv.c}, std::pair{"k", conv.k}}) {
    if (channels % conv.groups == 0) continue;
    throw UsageError(fmt::format("conv2d: groups={} does not divide {}={}; each group takes as many channels",
                                 conv.groups, name, channels));
  }
}

void describe(Conv2d& conv, Fields& fields) {
  const Conv2d usual;
  fields.required("n", "images", conv.n);
  fields.required("c", "input channels", conv.c);
  fields.both("input ", "h", conv.h, "w", conv.w);
  fields.required("k", "output channels", conv.k);
  fields.both("filter ", "r", conv.r, "s", conv.s);
  fields.optional_pair("stride", "step of the filter; 2, or 2x1 for height x width", conv.stride_h,
                       conv.stride_w, Sides{1, 1});
  fields.optional_pair("pad", "zeros around the input on each side; 1, or 1x0", conv.pad_h, conv.pad_w,
                       Sides{0, 0}, {0});
  fields.optional_pair("dilation", "distance of the filter's elements; 1, or 2x1", conv.dilation_h,
                       conv.dilation_w, Sides{1, 1});
  fields.optional("groups", "groups of channels; divides c and k", conv.groups, usual.groups);
  fields.shown("dtype", kTypesOfProducts, conv.dtype, usual.dtype);
  fields.shown("layout", kLayouts, conv.layout, usual.layout);
  fields.shown("direction", "fprop (y from x, w), dgrad (dx from dy, w) or wgrad (dw from x, dy)",
               conv.direction, usual.direction);
  fields.engine("pytorch, autotune (as cudnn.benchmark=True), best (every plan, measured) or a plan's tag",
                conv.engine);
}

void check(const Conv2d& conv) {
  check_groups(conv);
  check_filter_fits(conv);
}

// The same in all three directions, since each pairs every output with every weight once. Terms on padding
// count, too, as in every vendor's tables.
double flops(const Conv2d& conv) {
  const double outputs = real_product({conv.n, conv.k, conv.out_h(), conv.out_w()});
  return 2.0 * outputs * real_product({conv.c / conv.groups, conv.r, conv.s});
}

std::vector<Operand> operands(const Conv2d& conv) {
  const std::int64_t x = limited_product({conv.n, conv.c, conv.h, conv.w});
  const std::int64_t w = limited_product({conv.k, conv.c / conv.groups, conv.r, conv.s});
  const std::int64_t y = limited_product({conv.n, conv.k, conv.out_h(), conv.out_w()});
  using enum OperandRole;
  Operand weight{"w", input, conv.dtype, w};
  // The forward pass's fan-in in fprop and dgrad, because both read the same weight.
  weight.fan_in = limited_product({conv.c / conv.groups, conv.r, conv.s});
  switch (conv.direction) {
    case Direction::fprop: return {{"x", input, conv.dtype, x}, weight, {"y", output, conv.dtype, y}};
    case Direction::dgrad: return {{"dy", input, conv.dtype, y}, weight, {"dx", output, conv.dtype, x}};
    case Direction::wgrad:
      return {{"x", input, conv.dtype, x}, {"dy", input, conv.dtype, y}, {"dw", output, conv.dtype, w}};
  }
  return {};
}

}  // namespace

const KindOf<Conv2d>& kind_of(const Conv2d&) {
  static const KindOf<Conv2d> kind = {
      .words = {{"conv2d", "2-D convolution, or the gradient of one by its input or by its weight",
                 "conv2d:n=32,c=64,hw=56,k=64,rs=3,pad=1,dtype=f16,layout=nhwc,direction=fprop"}},
      .describe = describe,
      .check = check,
      .flops = flops,
      .operands = operands};
  return kind;
}

namespace {

void describe(Pool2d& pool, Fields& fields) {
  const Pool2d usual;
  fields.images(pool, "input ");
  fields.required_pair("window", "size of the window; 3, or 3x2 for height x width", pool.window_h,
                       pool.window_w);
  fields.optional_pair("stride", "step of the window; 2, or 2x1", pool.stride_h, pool.stride_w,
                       {{pool.window_h, pool.window_w}, "window"});
  fields.optional_pair("pad", "elements around the input on each side, at most half the window; 1, or 1x0",
                       pool.pad_h, pool.pad_w, Sides{0, 0}, {0});
  fields.shown("dtype", kTypes, pool.dtype, usual.dtype);
  fields.shown("layout", kLayouts, pool.layout, usual.layout);
  fields.pass("forward or backward", pool.pass);
}

// PyTorch requires this, so that no window lies wholly on padding.
void check_side(std::string_view kind, std::int64_t size, std::int64_t window, std::int64_t pad) {
  if (pad > window / 2) {
    throw UsageError(
        fmt::format("{}: pad={} is more than half of window={}; make pad smaller", kind, pad, window));
  }
  if (window > size + 2 * pad) {
    throw UsageError(
        fmt::format("{}: window={} is larger than the padded input of {}; make hw larger or window smaller",
                    kind, window, size + 2 * pad));
  }
}

void check(const Pool2d& pool) {
  check_side(name(pool), pool.h, pool.window_h, pool.pad_h);
  check_side(name(pool), pool.w, pool.window_w, pool.pad_w);
}

// A comparison or an addition for each element of each window, including padding; the average's division
// replaces its first addition. Backward adds each window's gradient to its elements; for max that is one
// element.
double flops(const Pool2d& pool) {
  const double outputs = real_product({pool.n, pool.c, pool.out_h(), pool.out_w()});
  if (pool.kind == PoolKind::max && pool.pass == Pass::backward) return outputs;
  return outputs * real_product({pool.window_h, pool.window_w});
}

std::vector<Operand> operands(const Pool2d& pool) {
  using enum OperandRole;
  const std::int64_t x = limited_product({pool.n, pool.c, pool.h, pool.w});
  const std::int64_t y = limited_product({pool.n, pool.c, pool.out_h(), pool.out_w()});
  const bool backward = pool.pass == Pass::backward;
  std::vector<Operand> result = {{backward ? "dy" : "x", input, pool.dtype, backward ? y : x},
                                 {backward ? "dx" : "y", output, pool.dtype, backward ? x : y}};
  if (pool.kind == PoolKind::average) return result;
  const Operand indices{"indices", backward ? input : output, DataType::i64, y,
                        limited_product({pool.h, pool.w})};
  result.insert(backward ? result.begin() + 1 : result.end(), indices);
  return result;
}

}  // namespace

const KindOf<Pool2d>& kind_of(const Pool2d&) {
  const std::string parameters = ":n=32,c=64,hw=112,window=3,stride=2,pad=1,dtype=f16,layout=nhwc";
  static const KindOf<Pool2d> kind = {
      .words = {{"max_pool", "the largest of each window, as torch.nn.MaxPool2d", "max_pool" + parameters,
                 Pool2d{.kind = PoolKind::max}},
                {"avg_pool", "the average of each window, as torch.nn.AvgPool2d", "avg_pool" + parameters,
                 Pool2d{.kind = PoolKind::average}}},
      .place = [](const Pool2d& pool) { return static_cast<std::size_t>(pool.kind); },
      .describe = describe,
      .check = check,
      .flops = flops,
      .operands = operands};
  return kind;
}

namespace {

void describe(BatchNorm& norm, Fields& fields) {
  const BatchNorm usual;
  fields.images(norm);
  fields.shown("dtype", kTypesBesideStatistics, norm.dtype, usual.dtype);
  fields.shown("layout", kLayouts, norm.layout, usual.layout);
  fields.optional("pass", "forward (as in training), backward or inference", norm.pass, usual.pass);
  fields.optional("weights", "of weight and bias beside f16 or bf16: f32 (mixed precision) or the dtype",
                  norm.weights, usual.weights);
}

void check(const BatchNorm& norm) {
  if (norm.weights == DataType::f32 || norm.weights == converted_weights_type(norm.dtype)) return;
  throw UsageError(
      fmt::format("batch_norm: weights={} beside dtype={}: they are f32, or of the dtype where that "
                  "is f16 or bf16; leave weights out",
                  to_string(norm.weights), to_string(norm.dtype)));
}

// Operations for each element of x, without those done once for a channel. Forward: mean 1, variance 3,
// scaling and shifting 4. Inference: scaling and shifting 4. Backward: normalizing x again 2, the sums of dy
// and of dy times x 3, dx from them 4.
double flops(const BatchNorm& norm) {
  const double elements = real_product({norm.n, norm.c, norm.h, norm.w});
  switch (norm.pass) {
    case Pass::forward: return 8.0 * elements;
    case Pass::backward: return 9.0 * elements;
    case Pass::inference: return 4.0 * elements;
  }
  return 0.0;
}

std::vector<Operand> operands(const BatchNorm& norm) {
  using enum OperandRole;
  const auto tensor = [&](const char* operand_name, OperandRole role) {
    return Operand{operand_name, role, norm.dtype, limited_product({norm.n, norm.c, norm.h, norm.w})};
  };
  const auto channels = [&](const char* operand_name, OperandRole role) {
    return Operand{operand_name, role, statistics_type(norm.dtype), norm.c};
  };
  const auto weights = [&](const char* operand_name, OperandRole role) {
    const bool converted = norm.weights != DataType::f32;
    return Operand{operand_name, role, converted ? norm.weights : statistics_type(norm.dtype), norm.c};
  };
  const auto positive = [&](const char* operand_name) {
    Operand operand = channels(operand_name, input);
    operand.non_negative = true;
    return operand;
  };
  switch (norm.pass) {
    case Pass::forward:
      return {tensor("x", input),  weights("weight", input), weights("bias", input),
              tensor("y", output), channels("mean", output), channels("deviation", output)};
    case Pass::backward:
      return {tensor("x", input),         tensor("dy", input),     weights("weight", input),
              channels("mean", input),    positive("deviation"),   tensor("dx", output),
              weights("dweight", output), weights("dbias", output)};
    case Pass::inference:
      return {tensor("x", input),      weights("weight", input), weights("bias", input),
              channels("mean", input), positive("variance"),     tensor("y", output)};
  }
  return {};
}

}  // namespace

const KindOf<BatchNorm>& kind_of(const BatchNorm&) {
  static const KindOf<BatchNorm> kind = {
      .words = {{"batch_norm", "normalizes each channel over n, h and w, as torch.nn.BatchNorm2d",
                 "batch_norm:n=32,c=64,hw=112,dtype=f16,layout=nhwc"}},
      .describe = describe,
      .check = check,
      .flops = flops,
      .operands = operands};
  return kind;
}

namespace {

void describe(BiasAdd& bias, Fields& fields) {
  const BiasAdd usual;
  fields.images(bias);
  fields.shown("dtype", kTypes, bias.dtype, usual.dtype);
  fields.shown("layout", kLayouts, bias.layout, usual.layout);
}

std::int64_t elements(const BiasAdd& bias) { return limited_product({bias.n, bias.c, bias.h, bias.w}); }

double flops(const BiasAdd& bias) { return static_cast<double>(elements(bias)); }

std::vector<Operand> operands(const BiasAdd& bias) {
  using enum OperandRole;
  return {{"x", input, bias.dtype, elements(bias)},
          {"bias", input, bias.dtype, bias.c},
          {"y", output, bias.dtype, elements(bias)}};
}

}  // namespace

const KindOf<BiasAdd>& kind_of(const BiasAdd&) {
  static const KindOf<BiasAdd> kind = {
      .words = {{"bias_add", "y = x + bias of the channel, as PyTorch adds a convolution's bias",
                 "bias_add:n=32,c=64,hw=112,dtype=f16"}},
      .describe = describe,
      .flops = flops,
      .operands = operands};
  return kind;
}

}  // namespace jitterscope::kinds
