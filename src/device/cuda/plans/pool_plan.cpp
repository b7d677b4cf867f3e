#include <fmt/format.h>

#include <algorithm>

#include "device/cuda/kernel_plan.hpp"
#include "device/cuda/kernels/pool_shape.hpp"
#include "jitterscope/error.hpp"

namespace jitterscope::cuda {
namespace {

void check_size(const Pool2d& pool) {
  const std::int64_t side = std::max(pool.h + 2 * pool.pad_h, pool.w + 2 * pool.pad_w);
  if (pool.h * pool.w > kLargestPoolPlane || side > kLargestPoolSide) {
    throw UsageError(fmt::format(
        "jitterscope's own kernels pool planes of at most 2^31-1 elements and 2^30-1 rows and columns, "
        "padding included, and this one is {}x{}; make h or w smaller",
        pool.h + 2 * pool.pad_h, pool.w + 2 * pool.pad_w));
  }
}

// A stride past the input has one window, whatever it is.
PoolAxis make_axis(std::int64_t size, std::int64_t out, std::int64_t window, std::int64_t stride,
                   std::int64_t pad) {
  const auto narrow = [](std::int64_t n) { return static_cast<std::int32_t>(n); };
  const std::int64_t step = std::min(stride, size + 2 * pad);
  return {narrow(size), narrow(out), narrow(window), narrow(step), narrow(pad), FastDivisor(step)};
}

/// An item for each output, or for each column of kBackwardRows rows of dx.
PoolShape make_shape(const Pool2d& pool, int channels_each) {
  const bool last = pool.layout == Layout::nhwc;
  const std::int64_t planes = last ? pool.n : pool.n * pool.c;
  PoolShape shape;
  shape.channels = static_cast<std::int32_t>(last ? pool.c : 1);
  shape.h = make_axis(pool.h, pool.out_h(), pool.window_h, pool.stride_h, pool.pad_h);
  shape.w = make_axis(pool.w, pool.out_w(), pool.window_w, pool.stride_w, pool.pad_w);
  const bool backward = pool.pass == Pass::backward;
  const std::int64_t groups = shape.channels / channels_each;
  const std::int64_t columns = backward ? pool.w : pool.out_w();
  const std::int64_t rows = backward ? (pool.h + kBackwardRows - 1) / kBackwardRows : pool.out_h();
  shape.by_channel_groups = FastDivisor(groups);
  shape.by_columns = FastDivisor(columns);
  shape.by_rows = FastDivisor(rows);
  shape.items = static_cast<std::uint64_t>(planes * rows * columns * groups);
  return shape;
}

}  // namespace

void plan_pool(KernelPlan& plan, const Pool2d& pool) {
  check_size(pool);
  const int per_vector = elements_of_vector(pool.dtype);
  const bool vectors = pool.layout == Layout::nhwc && pool.c % per_vector == 0;
  const PoolShape shape = make_shape(pool, vectors ? per_vector : 1);
  const auto items = static_cast<std::int64_t>(shape.items);
  const bool is_max = pool.kind == PoolKind::max;
  const std::string_view kind = is_max ? "max" : "average";
  const std::string_view width = vectors ? "vector" : "single";
  if (pool.pass == Pass::backward) {
    const KernelName kernel(KernelFile::pooling_backward, fmt::format("{}_backward_{}", kind, width),
                            pool.dtype);
    if (is_max) {
      plan.add_filling(kernel, items, plan.operand(2), plan.operand(0), plan.operand(1), shape);
    } else {
      plan.add_filling(kernel, items, plan.operand(1), plan.operand(0), shape);
    }
    return;
  }
  const bool square = pool.window_h == pool.window_w && (pool.window_h == 2 || pool.window_h == 3);
  const KernelName kernel(KernelFile::pooling_forward,
                          fmt::format("{}_forward_{}_window{}", kind, width, square ? pool.window_h : 0),
                          pool.dtype);
  if (is_max) {
    plan.add_filling(kernel, items, plan.operand(1), plan.operand(2), plan.operand(0), shape);
  } else {
    plan.add_filling(kernel, items, plan.operand(1), plan.operand(0), shape);
  }
}

}  // namespace jitterscope::cuda
