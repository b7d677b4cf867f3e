#include <fmt/format.h>

#include <algorithm>

#include "device/cuda/kernel_plan.hpp"
#include "device/cuda/kernels/plane_stage.hpp"
#include "device/cuda/kernels/pool_rows.hpp"
#include "device/cuda/kernels/pool_shape.hpp"
#include "device/cuda/kernels/pool_tiles.hpp"
#include "device/cuda/kernels/row_slots.hpp"
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

std::int64_t quotient_up(std::int64_t n, std::int64_t by) { return (n + by - 1) / by; }
std::string_view name_of(PoolKind kind) { return kind == PoolKind::max ? "max" : "average"; }
std::string_view name_of(Pass pass) { return pass == Pass::backward ? "backward" : "forward"; }

// A stride past the input has one window, whatever it is.
PoolAxis make_axis(std::int64_t size, std::int64_t out, std::int64_t window, std::int64_t stride,
                   std::int64_t pad) {
  const auto narrow = [](std::int64_t n) { return static_cast<std::int32_t>(n); };
  const std::int64_t step = std::min(stride, size + 2 * pad);
  return {narrow(size), narrow(out), narrow(window), narrow(step), narrow(pad), FastDivisor(step)};
}

/// How many items a plane's rows and columns are.
struct Items {
  std::int64_t rows, columns;
};

PoolShape make_shape(const Pool2d& pool, const Items& items, int channels_each) {
  const bool last = pool.layout == Layout::nhwc;
  const std::int64_t planes = last ? pool.n : pool.n * pool.c;
  PoolShape shape;
  shape.channels = static_cast<std::int32_t>(last ? pool.c : 1);
  shape.h = make_axis(pool.h, pool.out_h(), pool.window_h, pool.stride_h, pool.pad_h);
  shape.w = make_axis(pool.w, pool.out_w(), pool.window_w, pool.stride_w, pool.pad_w);
  const std::int64_t groups = shape.channels / channels_each;
  shape.by_channel_groups = FastDivisor(groups);
  shape.by_columns = FastDivisor(items.columns);
  shape.by_rows = FastDivisor(items.rows);
  shape.items = static_cast<std::uint64_t>(planes * items.rows * items.columns * groups);
  return shape;
}

/// Calls the function with the tensors, in the order of the kernels: what is written comes first.
template <class Launch>
void with_tensors(const KernelPlan& plan, const Pool2d& pool, const Launch& launch) {
  if (pool.kind == PoolKind::average) {
    launch(plan.operand(1), plan.operand(0));
  } else if (pool.pass == Pass::backward) {
    launch(plan.operand(2), plan.operand(0), plan.operand(1));
  } else {
    launch(plan.operand(1), plan.operand(2), plan.operand(0));
  }
}

bool is_square(const Pool2d& pool, std::int64_t window, std::int64_t stride) {
  return pool.window_h == window && pool.window_w == window && pool.stride_h == stride &&
         pool.stride_w == stride;
}

// As the files of tiles list them.
bool is_tile_listed(const Pool2d& pool) {
  if (pool.layout == Layout::nhwc && pool.c % kTileChannels != 0) return false;
  if (is_square(pool, 2, 2)) return pool.pass != Pass::backward || pool.pad_w == 0;
  return is_square(pool, 3, 2) || is_square(pool, 3, 1);
}

bool has_short_tile(const Pool2d& pool) {
  const bool in_pairs = pool.kind == PoolKind::max && pool.pass != Pass::backward;
  return pool.layout == Layout::nhwc && pool.c % kShortTileChannels == 0 &&
         element_size(pool.dtype) == Bytes(2) && !(in_pairs && pool.w > kWidestPairRow);
}

std::string_view tile_layout(const Pool2d& pool) {
  if (pool.layout == Layout::nchw) return "planes";
  return has_short_tile(pool) ? "more_channels" : "channels";
}

/// Down dx, which may begin in the padding.
std::int64_t strides_of(const Pool2d& pool) { return (pool.h - 1 + pool.pad_h) / pool.stride_h + 1; }

PoolShape make_tile_shape(const Pool2d& pool) {
  const bool last = pool.layout == Layout::nhwc;
  const int channels = has_short_tile(pool) ? kShortTileChannels : last ? kTileChannels : 1;
  if (pool.pass == Pass::backward) {
    const int strides = backward_tile_strides(pool.kind == PoolKind::max, last ? channels : 0);
    return make_shape(
        pool, {quotient_up(strides_of(pool), strides), quotient_up(pool.w, kBackwardTileColumns)}, channels);
  }
  const int rows = forward_tile_rows(static_cast<int>(pool.window_h), last);
  return make_shape(pool, {quotient_up(pool.out_h(), rows), pool.out_w()}, channels);
}

bool has_tile(const Pool2d& pool) {
  return is_tile_listed(pool) && make_tile_shape(pool).items <= kMostTiles;
}

void plan_tiles(KernelPlan& plan, const Pool2d& pool) {
  const bool backward = pool.pass == Pass::backward;
  std::string name = fmt::format("{}_{}_{}_window{}_stride{}", name_of(pool.kind), name_of(pool.pass),
                                 tile_layout(pool), pool.window_h, pool.stride_h);
  if (backward) name += fmt::format("_phase{}", pool.pad_w % pool.stride_w);
  const KernelName kernel(backward ? KernelFile::pooling_backward_tiles : KernelFile::pooling_forward_tiles,
                          name, pool.dtype);
  const PoolShape shape = make_tile_shape(pool);
  with_tensors(plan, pool, [&](auto... tensors) {
    plan.add_covering(kernel, static_cast<std::int64_t>(shape.items), 1, tensors..., shape);
  });
}

int row_columns(const Pool2d& pool) {
  if (pool.pass != Pass::backward) return kRowColumns;
  return backward_row_columns(pool.kind == PoolKind::max, static_cast<int>(element_size(pool.dtype).value()),
                              static_cast<int>(pool.stride_w));
}

// As the files of rows list them. Rows of whole fours or eights, with as many windows as strides, are
// aligned.
bool is_row_listed(const Pool2d& pool) {
  if (pool.layout != Layout::nchw || pool.dtype == DataType::f64) return false;
  const bool listed = is_square(pool, 2, 2)
                          ? pool.pad_w == 0
                          : (is_square(pool, 3, 2) || is_square(pool, 3, 1)) && pool.pad_w == 1;
  return listed && pool.w % row_columns(pool) == 0;
}

PoolShape make_row_shape(const Pool2d& pool) {
  const std::int64_t columns = pool.w / row_columns(pool);
  if (pool.pass == Pass::backward) {
    const int strides = backward_row_strides(static_cast<int>(pool.stride_h));
    return make_shape(pool, {quotient_up(strides_of(pool), strides), columns}, 1);
  }
  const int outputs =
      forward_row_outputs(pool.kind == PoolKind::max, static_cast<int>(element_size(pool.dtype).value()));
  return make_shape(pool, {quotient_up(pool.out_h(), outputs), columns}, 1);
}

bool has_rows(const Pool2d& pool) { return is_row_listed(pool) && make_row_shape(pool).items <= kMostTiles; }

void plan_rows(KernelPlan& plan, const Pool2d& pool) {
  const bool backward = pool.pass == Pass::backward;
  const KernelName kernel(backward ? KernelFile::pooling_backward_rows : KernelFile::pooling_forward_rows,
                          fmt::format("{}_{}_rows_window{}_stride{}_pad{}", name_of(pool.kind),
                                      name_of(pool.pass), pool.window_h, pool.stride_h, pool.pad_w),
                          pool.dtype);
  const PoolShape shape = make_row_shape(pool);
  with_tensors(plan, pool, [&](auto... tensors) {
    plan.add_covering(kernel, static_cast<std::int64_t>(shape.items), 1, tensors..., shape);
  });
}

// Forward, few lanes of a block are to be without channels.
bool has_channel_vectors(const Pool2d& pool) {
  const std::int64_t vectors = pool.c / elements_of_vector(pool.dtype), lanes = PlaneStage::kChannelLanes;
  return pool.c % elements_of_vector(pool.dtype) == 0 &&
         (pool.pass == Pass::backward || vectors % lanes == 0 || vectors > 4 * lanes);
}

// Smaller planes than a vector are left to the kernels for any window.
bool is_average_of_planes(const Pool2d& pool) {
  if (pool.kind != PoolKind::average || pool.window_h != pool.h || pool.window_w != pool.w ||
      pool.pad_h != 0 || pool.pad_w != 0) {
    return false;
  }
  if (pool.layout == Layout::nhwc) return has_channel_vectors(pool);
  return pool.pass != Pass::backward || pool.h * pool.w >= elements_of_vector(pool.dtype);
}

void plan_average_of_channels(KernelPlan& plan, const Pool2d& pool) {
  const std::int64_t vectors = pool.c / elements_of_vector(pool.dtype), plane = pool.h * pool.w;
  if (pool.pass != Pass::backward) {
    plan.add(KernelName(KernelFile::average_planes, "average_channels", pool.dtype),
             pool.n * quotient_up(vectors, PlaneStage::kChannelLanes), kBlockThreads, plan.operand(1),
             plan.operand(0), static_cast<std::uint32_t>(plane), static_cast<std::uint32_t>(pool.c));
    return;
  }
  const std::int64_t parts = quotient_up(plane, PlaneStage::kChannelElements);
  const std::int64_t items = pool.n * parts * vectors;
  plan.add_covering(
      KernelName(KernelFile::plane_spread, "spread_channels", pool.dtype), items, 1, plan.operand(1),
      plan.operand(0), static_cast<std::uint64_t>(items), static_cast<std::uint32_t>(plane),
      static_cast<std::uint32_t>(PlaneStage::kChannelElements), FastDivisor(vectors), FastDivisor(parts));
}

void plan_average_of_planes(KernelPlan& plan, const Pool2d& pool) {
  const std::int64_t planes = pool.n * pool.c, plane = pool.h * pool.w;
  const std::int64_t plane_bytes = plane * element_size(pool.dtype).value();
  if (pool.pass == Pass::backward) {
    if (const int each = PlaneStage::spread_each(plane_bytes); each > 0) {
      plan.add(KernelName(KernelFile::plane_spread, "spread_planes_kept", pool.dtype),
               quotient_up(planes, each), kBlockThreads, plan.operand(1), plan.operand(0),
               static_cast<std::uint64_t>(planes), static_cast<std::uint32_t>(each), FastDivisor(plane));
      return;
    }
    plan.add_covering(KernelName(KernelFile::plane_spread, "spread_planes", pool.dtype),
                      quotient_up(planes * plane, elements_of_vector(pool.dtype)), 1, plan.operand(1),
                      plan.operand(0), static_cast<std::uint64_t>(planes * plane),
                      static_cast<std::uint64_t>(planes), FastDivisor(plane));
    return;
  }
  if (const int each = PlaneStage::planes_each(plane_bytes); each > 0) {
    plan.add(KernelName(KernelFile::average_planes,
                        fmt::format("average_planes_staged{}", static_cast<int>(kBlockThreads) / each),
                        pool.dtype),
             quotient_up(planes, each), kBlockThreads, plan.operand(1), plan.operand(0),
             static_cast<std::uint64_t>(planes), static_cast<std::uint32_t>(plane));
    return;
  }
  const int group = group_of(most_slots(plane, elements_of_vector(pool.dtype)));
  plan.add(KernelName(KernelFile::average_planes, fmt::format("average_planes{}", group), pool.dtype),
           quotient_up(planes, kBlockThreads / group), kBlockThreads, plan.operand(1), plan.operand(0),
           static_cast<std::uint64_t>(planes), static_cast<std::uint64_t>(plane));
}

/// An item for each output, or for each column of kBackwardRows rows of dx.
void plan_any_window(KernelPlan& plan, const Pool2d& pool) {
  const int per_vector = elements_of_vector(pool.dtype);
  const bool vectors = pool.layout == Layout::nhwc && pool.c % per_vector == 0;
  const bool backward = pool.pass == Pass::backward;
  const Items items =
      backward ? Items{quotient_up(pool.h, kBackwardRows), pool.w} : Items{pool.out_h(), pool.out_w()};
  const PoolShape shape = make_shape(pool, items, vectors ? per_vector : 1);
  std::string name =
      fmt::format("{}_{}_{}", name_of(pool.kind), name_of(pool.pass), vectors ? "vector" : "single");
  if (!backward) {
    const bool unrolled = pool.window_h == pool.window_w && (pool.window_h == 2 || pool.window_h == 3);
    name += fmt::format("_window{}", unrolled ? pool.window_h : 0);
  }
  const KernelName kernel(backward ? KernelFile::pooling_backward : KernelFile::pooling_forward, name,
                          pool.dtype);
  with_tensors(plan, pool, [&](auto... tensors) {
    plan.add_filling(kernel, static_cast<std::int64_t>(shape.items), tensors..., shape);
  });
}

}  // namespace

void plan_pool(KernelPlan& plan, const Pool2d& pool) {
  check_size(pool);
  if (has_rows(pool)) {
    plan_rows(plan, pool);
  } else if (has_tile(pool)) {
    plan_tiles(plan, pool);
  } else if (is_average_of_planes(pool)) {
    if (pool.layout == Layout::nhwc) {
      plan_average_of_channels(plan, pool);
    } else {
      plan_average_of_planes(plan, pool);
    }
  } else {
    plan_any_window(plan, pool);
  }
}

}  // namespace jitterscope::cuda
