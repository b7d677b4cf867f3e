#include "import/tensor_layout.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

#include "import/recorded_operator.hpp"

namespace jitterscope {
namespace {

constexpr std::int64_t kTooLarge = std::int64_t{1} << 50;

// Past kTooLarge it stays there, so that a damaged shape cannot overflow.
std::int64_t limited(std::int64_t a, std::int64_t b) {
  if (a <= 0 || b <= 0) return 0;
  return a > kTooLarge / b ? kTooLarge : a * b;
}

std::vector<std::int64_t> row_major_strides(const std::vector<std::int64_t>& shape) {
  std::vector<std::int64_t> strides(shape.size());
  std::int64_t step = 1;
  for (std::size_t i = shape.size(); i-- > 0;) {
    strides[i] = step;
    step = limited(step, std::max<std::int64_t>(shape[i], 1));
  }
  return strides;
}

std::vector<std::int64_t> strides_of(const AtenArgument& tensor) {
  return tensor.strides.size() == tensor.shape.size() ? tensor.strides : row_major_strides(tensor.shape);
}

}  // namespace

bool is_dense_in(const AtenArgument& tensor, std::span<const int> order) {
  require_native(order.size() == tensor.shape.size());
  const std::vector<std::int64_t> strides = strides_of(tensor);
  std::int64_t step = 1;
  for (std::size_t i = order.size(); i-- > 0;) {
    const auto dimension = static_cast<std::size_t>(order[i]);
    const std::int64_t size = tensor.shape[dimension];
    if (size != 1 && strides[dimension] != step) return false;
    step = limited(step, size);
  }
  return true;
}

bool is_dense_row_major(const AtenArgument& tensor) {
  std::vector<int> order(tensor.shape.size());
  std::iota(order.begin(), order.end(), 0);
  return is_dense_in(tensor, order);
}

bool is_dense(const AtenArgument& tensor) {
  std::vector<int> order(tensor.shape.size());
  std::iota(order.begin(), order.end(), 0);
  const std::vector<std::int64_t> strides = strides_of(tensor);
  const auto outer = [&](int a, int b) {
    return strides[static_cast<std::size_t>(a)] > strides[static_cast<std::size_t>(b)];
  };
  std::stable_sort(order.begin(), order.end(), outer);
  return is_dense_in(tensor, order);
}

bool have_equal_strides(const AtenArgument& a, const AtenArgument& b) {
  const std::vector<std::int64_t> left = strides_of(a), right = strides_of(b);
  for (std::size_t i = 0; i < std::min(left.size(), right.size()); ++i) {
    if (a.shape[i] != 1 && left[i] != right[i]) return false;
  }
  return a.shape == b.shape;
}

std::optional<Layout> dense_layout(const AtenArgument& tensor) {
  constexpr int kRowMajor[] = {0, 1, 2, 3}, kChannelsLast[] = {0, 2, 3, 1};
  require_native(tensor.shape.size() == 4);
  const bool nhwc = is_dense_in(tensor, kChannelsLast);
  if (is_dense_in(tensor, kRowMajor) && !(nhwc && suggested_layout(tensor) == Layout::nhwc)) {
    return Layout::nchw;
  }
  return nhwc ? std::optional(Layout::nhwc) : std::nullopt;
}

Layout suggested_layout(const AtenArgument& tensor) {
  const std::vector<std::int64_t> strides = strides_of(tensor);
  if (tensor.shape.size() != 4 || strides[1] == 0) return Layout::nchw;
  std::int64_t smallest = 0;
  for (const std::size_t dimension : {1u, 3u, 2u, 0u}) {
    if (tensor.shape[dimension] == 0 || strides[dimension] < smallest) return Layout::nchw;
    // Strides that are all the same say nothing: n·1·1·1 is taken as nchw.
    if (dimension == 0 && smallest == strides[1]) return Layout::nchw;
    smallest = limited(strides[dimension], std::max<std::int64_t>(tensor.shape[dimension], 1));
  }
  return Layout::nhwc;
}

std::int64_t element_count(const AtenArgument& tensor) {
  std::int64_t count = 1;
  for (const std::int64_t size : tensor.shape) count = limited(count, size);
  return count;
}

DataType native_type(const AtenArgument& tensor) {
  for (const DataType type : {DataType::f64, DataType::f32, DataType::f16, DataType::bf16}) {
    if (tensor.text == to_string(type)) return type;
  }
  throw NotNative();
}

}  // namespace jitterscope
