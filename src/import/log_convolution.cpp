#include "import/log_convolution.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "jitterscope/error.hpp"

namespace jitterscope::library_log {
namespace {

using Numbers = std::vector<std::int64_t>;

constexpr std::size_t kDimensions = 4;

void check_form(const LoggedConvolution& convolution) {
  for (const LoggedTensor* tensor : {&convolution.x, &convolution.w, &convolution.y}) {
    const std::size_t count = tensor->dimensions.size();
    if (tensor == &convolution.y && count == 0) continue;
    if (count != kDimensions || tensor->strides.size() != kDimensions) {
      throw UsageError(fmt::format("its tensors have {} dimensions, and conv2d's have 4", count));
    }
    if (tensor->type != convolution.x.type) {
      throw UsageError(fmt::format("its tensors are of {} and {}, and conv2d's are of one type",
                                   convolution.x.type, tensor->type));
    }
  }
  for (const Numbers* pair :
       {&convolution.pad_before, &convolution.pad_after, &convolution.stride, &convolution.dilation}) {
    if (pair->size() != 2) throw UsageError("it has not two numbers for each of pad, stride and dilation");
  }
  if (convolution.pad_before != convolution.pad_after) {
    throw UsageError("it is padded unequally before and after, which conv2d is not");
  }
  if (convolution.mode != "CROSS_CORRELATION") {
    throw UsageError("it flips its filter (mode CONVOLUTION), which conv2d does not");
  }
  if (convolution.alpha != 1.0 || convolution.beta != 0.0) {
    throw UsageError("it scales its result or adds it to what was there, which conv2d does not");
  }
}

Conv2d shape_of(const LoggedConvolution& logged) {
  const Numbers &x = logged.x.dimensions, &w = logged.w.dimensions;
  if (w[1] < 1 || x[1] % w[1] != 0) {
    throw UsageError(
        fmt::format("its filter takes {} channels, which do not divide its input's {}", w[1], x[1]));
  }
  return {.n = x[0],
          .c = x[1],
          .h = x[2],
          .w = x[3],
          .k = w[0],
          .r = w[2],
          .s = w[3],
          .stride_h = logged.stride[0],
          .stride_w = logged.stride[1],
          .pad_h = logged.pad_before[0],
          .pad_w = logged.pad_before[1],
          .dilation_h = logged.dilation[0],
          .dilation_w = logged.dilation[1],
          .groups = x[1] / w[1],
          .dtype = DataType::f32,
          .layout = Layout::nchw,
          .direction = logged.direction,
          .engine = {}};
}

bool has_strides(const LoggedTensor& tensor, Layout layout, bool of_size_one_too) {
  const Numbers dense = dense_strides(tensor.dimensions, layout);
  for (std::size_t i = 0; i < dense.size(); ++i) {
    const bool counts = of_size_one_too || tensor.dimensions[i] != 1;
    if (counts && tensor.strides[i] != dense[i]) return false;
  }
  return true;
}

}  // namespace

Conv2d conv2d_of(const LoggedConvolution& logged, bool tf32) {
  check_form(logged);
  Conv2d conv = shape_of(logged);
  const std::optional<DataType> dtype = data_type_of(logged.x.type, tf32);
  if (!dtype) throw UsageError(fmt::format("its tensors are of {}, which conv2d is not", logged.x.type));
  conv.dtype = *dtype;
  const Operation checked(conv);  // before the shape is computed with
  const Numbers y = {conv.n, conv.k, conv.out_h(), conv.out_w()};
  std::vector<const LoggedTensor*> tensors = {&logged.x, &logged.w};
  if (!logged.y.dimensions.empty()) {
    if (logged.y.dimensions != y) {
      throw UsageError(fmt::format("its y is {}, and that of conv2d {}", fmt::join(logged.y.dimensions, "x"),
                                   fmt::join(y, "x")));
    }
    tensors.push_back(&logged.y);
  }
  const std::optional<Layout> layout = layout_of(tensors);
  if (!layout) throw UsageError("the strides of its tensors are those of neither nchw nor nhwc");
  conv.layout = *layout;
  return conv;
}

std::vector<std::int64_t> dense_strides(const std::vector<std::int64_t>& dimensions, Layout layout) {
  const std::int64_t c = dimensions[1], h = dimensions[2], w = dimensions[3];
  if (layout == Layout::nchw) return {c * h * w, h * w, w, 1};
  return {c * h * w, 1, w * c, c};
}

std::optional<Layout> layout_of(const std::vector<const LoggedTensor*>& tensors) {
  for (const bool of_size_one_too : {true, false}) {
    for (const Layout layout : {Layout::nchw, Layout::nhwc}) {
      const bool fits = std::all_of(tensors.begin(), tensors.end(), [&](const LoggedTensor* tensor) {
        return has_strides(*tensor, layout, of_size_one_too);
      });
      if (fits) return layout;
    }
  }
  return std::nullopt;
}

std::optional<DataType> data_type_of(std::string_view name, bool tf32) {
  if (name == "FLOAT") return tf32 ? DataType::tf32 : DataType::f32;
  if (name == "HALF") return DataType::f16;
  if (name == "BFLOAT16") return DataType::bf16;
  if (name == "DOUBLE") return DataType::f64;
  return std::nullopt;
}

std::string_view plan_prefix(Direction direction) {
  switch (direction) {
    case Direction::fprop: return "ConvFwd";
    case Direction::dgrad: return "ConvBwdData";
    case Direction::wgrad: return "ConvBwdFilter";
  }
  return {};
}

std::string precision_note(bool tf32) {
  if (tf32) {
    return "The log does not say whether convolutions of fp32 may use TF32. They are taken as tf32, because "
           "some of their engines run on tensor cores; PyTorch allows that by default "
           "(torch.backends.cudnn.allow_tf32).";
  }
  return "The log does not say whether convolutions of fp32 may use TF32. They are taken as f32, because "
         "none of their engines runs on tensor cores, as with torch.backends.cudnn.allow_tf32 = False or on "
         "a GPU without TF32.";
}

}  // namespace jitterscope::library_log
