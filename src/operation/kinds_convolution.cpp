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

Operation::Parameters read_conv2d(const ParameterReader& reader) {
  Conv2d conv;
  reader.require("n", conv.n);
  reader.require("c", conv.c);
  reader.require_both("hw", "h", conv.h, "w", conv.w);
  reader.require("k", conv.k);
  reader.require_both("rs", "r", conv.r, "s", conv.s);
  reader.read_pair("stride", conv.stride_h, conv.stride_w);
  reader.read_pair("pad", conv.pad_h, conv.pad_w);
  reader.read_pair("dilation", conv.dilation_h, conv.dilation_w);
  reader.read("groups", conv.groups);
  reader.read("dtype", conv.dtype);
  reader.read("layout", conv.layout);
  reader.read("direction", conv.direction);
  reader.read_engine(conv.engine);
  return conv;
}

}  // namespace

std::int64_t Conv2d::out_h() const { return out_size(h, r, stride_h, pad_h, dilation_h); }
std::int64_t Conv2d::out_w() const { return out_size(w, s, stride_w, pad_w, dilation_w); }

namespace kinds {

std::string_view name(const Conv2d&) { return "conv2d"; }

void check(const Conv2d& conv) {
  const std::pair<std::string_view, std::int64_t> positive[] = {
      {"n", conv.n},
      {"c", conv.c},
      {"h", conv.h},
      {"w", conv.w},
      {"k", conv.k},
      {"r", conv.r},
      {"s", conv.s},
      {"stride", conv.stride_h},
      {"stride", conv.stride_w},
      {"dilation", conv.dilation_h},
      {"dilation", conv.dilation_w},
      {"groups", conv.groups},
  };
  for (const auto& [parameter, value] : positive)
    check_range("conv2d", parameter, value, 1, kLargestDimension);
  check_range("conv2d", "pad", conv.pad_h, 0, kLargestDimension);
  check_range("conv2d", "pad", conv.pad_w, 0, kLargestDimension);
  check_groups(conv);
  check_filter_fits(conv);
}

void write(const Conv2d& conv, ParameterWriter& writer) {
  const Conv2d usual;
  writer.write("n", conv.n);
  writer.write("c", conv.c);
  writer.write_both("hw", "h", conv.h, "w", conv.w);
  writer.write("k", conv.k);
  writer.write_both("rs", "r", conv.r, "s", conv.s);
  writer.write_pair_unless(usual.stride_h, "stride", conv.stride_h, conv.stride_w);
  writer.write_pair_unless(usual.pad_h, "pad", conv.pad_h, conv.pad_w);
  writer.write_pair_unless(usual.dilation_h, "dilation", conv.dilation_h, conv.dilation_w);
  writer.write_unless(usual.groups, "groups", conv.groups);
  writer.write("dtype", conv.dtype);
  writer.write("layout", conv.layout);
  writer.write("direction", conv.direction);
  writer.write_engine(conv.engine);
}

// The same in all three directions, since each pairs every output with every weight once. Terms on padding
// count, too, as in every vendor's tables.
double flops(const Conv2d& conv) {
  const double outputs = static_cast<double>(conv.n) * static_cast<double>(conv.k) *
                         static_cast<double>(conv.out_h()) * static_cast<double>(conv.out_w());
  const double terms =
      static_cast<double>(conv.c / conv.groups) * static_cast<double>(conv.r) * static_cast<double>(conv.s);
  return 2.0 * outputs * terms;
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

Kind conv2d() {
  return {
      {"conv2d",
       "2-D convolution, or the gradient of one by its input or by its weight",
       "conv2d:n=32,c=64,hw=56,k=64,rs=3,pad=1,dtype=f16,layout=nhwc,direction=fprop",
       {{"n", "images", ""},
        {"c", "input channels", ""},
        {"hw", "input height and width", ""},
        {"h", "input height, with w in place of hw", "hw"},
        {"w", "input width, with h in place of hw", "hw"},
        {"k", "output channels", ""},
        {"rs", "filter height and width", ""},
        {"r", "filter height, with s in place of rs", "rs"},
        {"s", "filter width, with r in place of rs", "rs"},
        {"stride", "step of the filter; 2, or 2x1 for height x width", "1"},
        {"pad", "zeros around the input on each side; 1, or 1x0", "0"},
        {"dilation", "distance of the filter's elements; 1, or 2x1", "1"},
        {"groups", "groups of channels; divides c and k", "1"},
        {"dtype", "f64, f32, tf32 (f32 with products in TF32), f16 or bf16", "f32"},
        {"layout", "nchw or nhwc (PyTorch: channels_last)", "nchw"},
        {"direction", "fprop (y from x, w), dgrad (dx from dy, w) or wgrad (dw from x, dy)", "fprop"},
        {"engine", "pytorch, autotune (as cudnn.benchmark=True), best (every plan, measured) or a plan's tag",
         "pytorch"}}},
      read_conv2d};
}

}  // namespace kinds

namespace {

template <PoolKind Which>
Operation::Parameters read_pool2d(const ParameterReader& reader) {
  Pool2d pool;
  pool.kind = Which;
  reader.require("n", pool.n);
  reader.require("c", pool.c);
  reader.require_both("hw", "h", pool.h, "w", pool.w);
  reader.require_pair("window", pool.window_h, pool.window_w);
  pool.stride_h = pool.window_h;
  pool.stride_w = pool.window_w;
  reader.read_pair("stride", pool.stride_h, pool.stride_w);
  reader.read_pair("pad", pool.pad_h, pool.pad_w);
  reader.read("dtype", pool.dtype);
  reader.read("layout", pool.layout);
  reader.read("pass", pool.pass);
  return pool;
}

OperationHelp pool2d_help(const std::string& kind, const std::string& summary) {
  return {kind,
          summary,
          kind + ":n=32,c=64,hw=112,window=3,stride=2,pad=1,dtype=f16,layout=nhwc",
          {{"n", "batch size", ""},
           {"c", "channels", ""},
           {"hw", "input height and width", ""},
           {"h", "input height, with w in place of hw", "hw"},
           {"w", "input width, with h in place of hw", "hw"},
           {"window", "size of the window; 3, or 3x2 for height x width", ""},
           {"stride", "step of the window; 2, or 2x1", "window"},
           {"pad", "elements around the input on each side, at most half the window; 1, or 1x0", "0"},
           {"dtype", "f64, f32, tf32 (as f32), f16 or bf16", "f32"},
           {"layout", "nchw or nhwc (PyTorch: channels_last)", "nchw"},
           {"pass", "forward or backward", "forward"}}};
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

}  // namespace

std::int64_t Pool2d::out_h() const { return (h + 2 * pad_h - window_h) / stride_h + 1; }
std::int64_t Pool2d::out_w() const { return (w + 2 * pad_w - window_w) / stride_w + 1; }

namespace kinds {

std::string_view name(const Pool2d& pool) { return pool.kind == PoolKind::max ? "max_pool" : "avg_pool"; }

void check(const Pool2d& pool) {
  const std::pair<std::string_view, std::int64_t> positive[] = {
      {"n", pool.n},
      {"c", pool.c},
      {"h", pool.h},
      {"w", pool.w},
      {"window", pool.window_h},
      {"window", pool.window_w},
      {"stride", pool.stride_h},
      {"stride", pool.stride_w},
  };
  for (const auto& [parameter, value] : positive) {
    check_range(name(pool), parameter, value, 1, kLargestDimension);
  }
  check_range(name(pool), "pad", pool.pad_h, 0, kLargestDimension);
  check_range(name(pool), "pad", pool.pad_w, 0, kLargestDimension);
  check_side(name(pool), pool.h, pool.window_h, pool.pad_h);
  check_side(name(pool), pool.w, pool.window_w, pool.pad_w);
  check_pass(name(pool), pool.pass);
}

void write(const Pool2d& pool, ParameterWriter& writer) {
  writer.write("n", pool.n);
  writer.write("c", pool.c);
  writer.write_both("hw", "h", pool.h, "w", pool.w);
  writer.write_pair("window", pool.window_h, pool.window_w);
  if (pool.stride_h != pool.window_h || pool.stride_w != pool.window_w) {
    writer.write_pair("stride", pool.stride_h, pool.stride_w);
  }
  writer.write_pair_unless(0, "pad", pool.pad_h, pool.pad_w);
  writer.write("dtype", pool.dtype);
  writer.write("layout", pool.layout);
  writer.write_unless(Pass::forward, "pass", pool.pass);
}

// A comparison or an addition for each element of each window, including padding; the average's division
// replaces its first addition. Backward adds each window's gradient to its elements; for max that is one
// element.
double flops(const Pool2d& pool) {
  const double outputs = static_cast<double>(pool.n) * static_cast<double>(pool.c) *
                         static_cast<double>(pool.out_h()) * static_cast<double>(pool.out_w());
  if (pool.kind == PoolKind::max && pool.pass == Pass::backward) return outputs;
  return outputs * static_cast<double>(pool.window_h) * static_cast<double>(pool.window_w);
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

std::vector<Kind> pools() {
  return {{pool2d_help("max_pool", "the largest of each window, as torch.nn.MaxPool2d"),
           read_pool2d<PoolKind::max>},
          {pool2d_help("avg_pool", "the average of each window, as torch.nn.AvgPool2d"),
           read_pool2d<PoolKind::average>}};
}

}  // namespace kinds
}  // namespace jitterscope

namespace jitterscope::kinds {
namespace {

Operation::Parameters read_batch_norm(const ParameterReader& reader) {
  BatchNorm norm;
  reader.require("n", norm.n);
  reader.require("c", norm.c);
  reader.require_both("hw", "h", norm.h, "w", norm.w);
  reader.read("dtype", norm.dtype);
  reader.read("layout", norm.layout);
  reader.read("pass", norm.pass);
  reader.read("weights", norm.weights);
  return norm;
}

}  // namespace

std::string_view name(const BatchNorm&) { return "batch_norm"; }

void check(const BatchNorm& norm) {
  for (const auto& [parameter, value] :
       {std::pair{"n", norm.n}, std::pair{"c", norm.c}, std::pair{"h", norm.h}, std::pair{"w", norm.w}}) {
    check_range("batch_norm", parameter, value, 1, kLargestDimension);
  }
  if (norm.weights == DataType::f32 || norm.weights == converted_weights_type(norm.dtype)) return;
  throw UsageError(
      fmt::format("batch_norm: weights={} beside dtype={}: they are f32, or of the dtype where that "
                  "is f16 or bf16; leave weights out",
                  to_string(norm.weights), to_string(norm.dtype)));
}

void write(const BatchNorm& norm, ParameterWriter& writer) {
  writer.write("n", norm.n);
  writer.write("c", norm.c);
  writer.write_both("hw", "h", norm.h, "w", norm.w);
  writer.write("dtype", norm.dtype);
  writer.write("layout", norm.layout);
  writer.write_unless(Pass::forward, "pass", norm.pass);
  writer.write_unless(DataType::f32, "weights", norm.weights);
}

// Operations for each element of x, without those done once for a channel. Forward: mean 1, variance 3,
// scaling and shifting 4. Inference: scaling and shifting 4. Backward: normalizing x again 2, the sums of dy
// and of dy times x 3, dx from them 4.
double flops(const BatchNorm& norm) {
  const double elements = static_cast<double>(norm.n) * static_cast<double>(norm.c) *
                          static_cast<double>(norm.h) * static_cast<double>(norm.w);
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

Kind batch_norm() {
  return {{"batch_norm",
           "normalizes each channel over n, h and w, as torch.nn.BatchNorm2d",
           "batch_norm:n=32,c=64,hw=112,dtype=f16,layout=nhwc",
           {{"n", "batch size", ""},
            {"c", "channels", ""},
            {"hw", "height and width", ""},
            {"h", "height, with w in place of hw", "hw"},
            {"w", "width, with h in place of hw", "hw"},
            {"dtype", "f64, f32, tf32 (as f32), f16 or bf16; statistics of the last two are f32", "f32"},
            {"layout", "nchw or nhwc (PyTorch: channels_last)", "nchw"},
            {"pass", "forward (as in training), backward or inference", "forward"},
            {"weights", "of weight and bias beside f16 or bf16: f32 (mixed precision) or the dtype", "f32"}}},
          read_batch_norm};
}

namespace {

Operation::Parameters read_bias_add(const ParameterReader& reader) {
  BiasAdd bias;
  reader.require("n", bias.n);
  reader.require("c", bias.c);
  reader.require_both("hw", "h", bias.h, "w", bias.w);
  reader.read("dtype", bias.dtype);
  reader.read("layout", bias.layout);
  return bias;
}

std::int64_t elements(const BiasAdd& bias) { return limited_product({bias.n, bias.c, bias.h, bias.w}); }

}  // namespace

std::string_view name(const BiasAdd&) { return "bias_add"; }

void check(const BiasAdd& bias) {
  for (const auto& [parameter, value] :
       {std::pair{"n", bias.n}, std::pair{"c", bias.c}, std::pair{"h", bias.h}, std::pair{"w", bias.w}}) {
    check_range("bias_add", parameter, value, 1, kLargestDimension);
  }
}

void write(const BiasAdd& bias, ParameterWriter& writer) {
  writer.write("n", bias.n);
  writer.write("c", bias.c);
  writer.write_both("hw", "h", bias.h, "w", bias.w);
  writer.write("dtype", bias.dtype);
  writer.write("layout", bias.layout);
}

double flops(const BiasAdd& bias) { return static_cast<double>(elements(bias)); }

std::vector<Operand> operands(const BiasAdd& bias) {
  using enum OperandRole;
  return {{"x", input, bias.dtype, elements(bias)},
          {"bias", input, bias.dtype, bias.c},
          {"y", output, bias.dtype, elements(bias)}};
}

Kind bias_add() {
  return {{"bias_add",
           "y = x + bias of the channel, as PyTorch adds a convolution's bias",
           "bias_add:n=32,c=64,hw=112,dtype=f16",
           {{"n", "batch size", ""},
            {"c", "channels", ""},
            {"hw", "height and width", ""},
            {"h", "height, with w in place of hw", "hw"},
            {"w", "width, with h in place of hw", "hw"},
            {"dtype", "f64, f32, tf32 (as f32), f16 or bf16", "f32"},
            {"layout", "nchw or nhwc (PyTorch: channels_last)", "nchw"}}},
          read_bias_add};
}

}  // namespace jitterscope::kinds
