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

PoolShape make_shape(const Pool2d& pool) {
  const bool channels_last = pool.layout == Layout::nhwc;
  const bool writes_input = pool.pass == Pass::backward;
  const std::int64_t rows = writes_input ? pool.h : pool.out_h();
  const std::int64_t columns = writes_input ? pool.w : pool.out_w();
  PoolShape shape;
  shape.items = static_cast<std::uint64_t>(pool.n * pool.c * rows * columns);
  shape.h = make_axis(pool.h, pool.out_h(), pool.window_h, pool.stride_h, pool.pad_h);
  shape.w = make_axis(pool.w, pool.out_w(), pool.window_w, pool.stride_w, pool.pad_w);
  shape.by_channels = FastDivisor(channels_last ? pool.c : 1);
  shape.by_columns = FastDivisor(columns);
  shape.by_rows = FastDivisor(rows);
  return shape;
}

void plan_max(KernelPlan& plan, const Pool2d& pool, const PoolShape& shape) {
  const auto items = static_cast<std::int64_t>(shape.items);
  if (pool.pass == Pass::backward) {
    plan.add_covering("max_backward", pool.dtype, items, plan.operand(2), plan.operand(0), plan.operand(1),
                      shape);
  } else {
    plan.add_covering("max_forward", pool.dtype, items, plan.operand(1), plan.operand(2), plan.operand(0),
                      shape);
  }
}

// A warp shares a large window where there are few of them, as of whole planes.
void plan_average(KernelPlan& plan, const Pool2d& pool, const PoolShape& shape) {
  constexpr std::int64_t kLargeWindow = 64, kFewWindows = 1 << 20;
  const auto items = static_cast<std::int64_t>(shape.items);
  if (pool.pass == Pass::backward) {
    plan.add_covering("average_backward", pool.dtype, items, plan.operand(1), plan.operand(0), shape);
  } else {
    const std::uint32_t lanes = shape.window_elements() < kLargeWindow || items > kFewWindows ? 1 : 32;
    plan.add_covering("average_forward", pool.dtype, items * lanes, plan.operand(1), plan.operand(0), shape,
                      lanes);
  }
}

}  // namespace

void plan_pool(KernelPlan& plan, const Pool2d& pool) {
  check_size(pool);
  if (pool.kind == PoolKind::max) {
    plan_max(plan, pool, make_shape(pool));
  } else {
    plan_average(plan, pool, make_shape(pool));
  }
}

}  // namespace jitterscope::cuda
