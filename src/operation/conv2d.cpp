#include <fmt/format.h>

#include <utility>

#include "operation/kinds.hpp"
#include "operation/limits.hpp"

namespace jitterscope {
namespace {

// The extent of a filter with gaps between its elements.
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

// The same in all three directions: each pairs every output with every weight once. Terms that fall on
// padding count too, as in every vendor's tables.
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
  // Of the forward pass in either direction: both read the same weight.
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
}  // namespace jitterscope
