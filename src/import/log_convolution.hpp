// Convolutions as cuDNN's descriptors give them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "jitterscope/operation.hpp"

namespace jitterscope::library_log {

struct LoggedTensor {
  std::vector<std::int64_t> dimensions, strides;  ///< in the order n, c, h, w whatever the layout
  std::string type;                               ///< FLOAT, HALF, BFLOAT16, DOUBLE…
};

struct LoggedConvolution {
  Direction direction = Direction::fprop;
  LoggedTensor x = {}, y = {}, w = {};  ///< y may lack its shape, which follows from the others
  std::vector<std::int64_t> pad_before = {}, pad_after = {}, stride = {}, dilation = {};
  std::string mode = {};  ///< CROSS_CORRELATION or CONVOLUTION
  double alpha = 1.0, beta = 0.0;
};

/// With `tf32`, products of fp32 are taken as rounded to TF32. Throws UsageError that says why conv2d cannot
/// be it.
Conv2d conv2d_of(const LoggedConvolution& convolution, bool tf32);

/// The strides of a dense tensor.
std::vector<std::int64_t> dense_strides(const std::vector<std::int64_t>& dimensions, Layout layout);
/// By the strides of all tensors. Those of dimensions of size one tell the layouts apart where nothing else
/// does, and are what PyTorch's own rule goes by; nothing where no layout has these strides.
std::optional<Layout> layout_of(const std::vector<const LoggedTensor*>& tensors);
/// By cuDNN's name without CUDNN_DATA_.
std::optional<DataType> data_type_of(std::string_view name, bool tf32);

/// "ConvFwd", "ConvBwdData" or "ConvBwdFilter": how cuDNN's plans are tagged.
std::string_view plan_prefix(Direction direction);

/// Why fp32 convolutions are taken as tf32, or not.
std::string precision_note(bool tf32);

}  // namespace jitterscope::library_log
