// Pooling over windows, and over the whole image.
#include <algorithm>
#include <tuple>

#include "import/native_conversions.hpp"
#include "import/tensor_layout.hpp"

namespace jitterscope {
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
  pool.stride_h = pool.window_h, pool.stride_w = pool.window_w;  // what an empty stride means
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

// Windows of one size next to each other, where the output's size divides the input's.
Pool2d adaptive_pool_of(const AtenArgument& input, std::int64_t out_h, std::int64_t out_w) {
  Pool2d pool = pool_of(input, PoolKind::average);
  require_native(out_h > 0 && out_w > 0 && pool.h % out_h == 0 && pool.w % out_w == 0);
  pool.window_h = pool.stride_h = pool.h / out_h;
  pool.window_w = pool.stride_w = pool.w / out_w;
  return pool;
}

Converted forward(const Pool2d& pool, const Arguments& arguments) {
  return {as_operation(pool, {{"x", arguments.identity("self")},
                              {"y", arguments.output_identity(0)},
                              {"indices", arguments.output_identity(1)}})};
}

Converted backward(Pool2d pool, const Arguments& arguments) {
  pool.pass = Pass::backward;
  return {as_operation(pool, {{"dy", arguments.identity("grad_output")},
                              {"indices", arguments.identity("indices")},
                              {"dx", arguments.output_identity(0)}})};
}

}  // namespace

Converted convert_max_pool(const RecordedOperator& recorded, ConversionContext&) {
  const Arguments arguments(recorded);
  return forward(max_pool_of(arguments), arguments);
}

Converted convert_max_pool_backward(const RecordedOperator& recorded, ConversionContext&) {
  const Arguments arguments(recorded);
  return backward(max_pool_of(arguments), arguments);
}

Converted convert_average_pool(const RecordedOperator& recorded, ConversionContext&) {
  const Arguments arguments(recorded);
  return forward(average_pool_of(arguments), arguments);
}

Converted convert_average_pool_backward(const RecordedOperator& recorded, ConversionContext&) {
  const Arguments arguments(recorded);
  return backward(average_pool_of(arguments), arguments);
}

Converted convert_adaptive_pool(const RecordedOperator& recorded, ConversionContext&) {
  const Arguments arguments(recorded);
  const auto [height, width] = arguments.pair("output_size");
  return forward(adaptive_pool_of(arguments.tensor("self"), height, width), arguments);
}

Converted convert_adaptive_pool_backward(const RecordedOperator& recorded, ConversionContext&) {
  const Arguments arguments(recorded);
  const AtenArgument& gradient = arguments.tensor("grad_output");
  require_native(gradient.shape.size() == 4);
  const Pool2d pool = adaptive_pool_of(arguments.tensor("self"), gradient.shape[2], gradient.shape[3]);
  return backward(pool, arguments);
}

// adaptive_avg_pool2d to one element calls mean over height and width.
Converted convert_mean(const RecordedOperator& recorded, ConversionContext&) {
  const Arguments arguments(recorded);
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
