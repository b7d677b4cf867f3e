#include "device/cuda/kernel_plan.hpp"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "device/cuda/kernels/shapes.hpp"
#include "jitterscope/error.hpp"
#include "operation/kinds_elementwise.hpp"

// Memory for sums over columns, in the layout of column_sums.cuh.

namespace jitterscope::cuda {

struct PartialSums {
  DeviceAddress sums;
  std::uint32_t columns;

  PartialSums(KernelPlan& plan, DataType dtype, std::int64_t parts, std::int64_t of_columns)
      : sums(plan.workspace(Bytes(2 * parts * of_columns * compute_size(dtype).value()))),
        columns(static_cast<std::uint32_t>(of_columns)) {}
};

std::string KernelPlan::kernel_name(std::string_view base, DataType dtype) {
  const DataType stored = dtype == DataType::tf32 ? DataType::f32 : dtype;
  return fmt::format("{}_{}", base, to_string(stored));
}

unsigned row_threads(std::int64_t items) {
  constexpr std::int64_t kWarp = 32, kMost = kMostRowThreads;
  return static_cast<unsigned>(std::min((items + kWarp - 1) / kWarp * kWarp, kMost));
}

unsigned row_threads(std::int64_t columns, DataType dtype) {
  return row_threads(columns % elements_of_vector(dtype) == 0 ? vectors_of(columns, dtype) : columns);
}

// A formula with fewer inputs gets the others all the same, and ignores them.
void plan_elementwise(KernelPlan& plan, const Elementwise& shape) {
  const Operation operation(shape);
  const std::size_t inputs = operation.operands().size() - 1;
  const std::int64_t vectors = vectors_of(shape.count, shape.dtype);
  const auto count = static_cast<std::uint64_t>(shape.count);
  if (shape.kind == ElementwiseKind::fill) {
    plan.add_covering("fill", shape.dtype, (vectors + kFillVectors - 1) / kFillVectors, plan.operand(0),
                      count);
    return;
  }
  plan.add_covering(operation.kind(), shape.dtype, vectors, plan.operand(inputs), plan.operand(0),
                    plan.operand(inputs > 1 ? 1 : 0), count);
}

void plan_bias_add(KernelPlan& plan, const BiasAdd& shape) {
  const auto channels = ChannelShape::make(shape.n, shape.c, shape.h * shape.w, shape.layout == Layout::nhwc);
  plan.add_covering("bias_add", shape.dtype,
                    vectors_of(static_cast<std::int64_t>(channels.count), shape.dtype), plan.operand(2),
                    plan.operand(0), plan.operand(1), channels);
}

void plan_bias_broadcast(KernelPlan& plan, const Matmul& shape) {
  plan.add_covering("bias_broadcast", shape.dtype, vectors_of(shape.m * shape.n, shape.dtype),
                    plan.operand(3), plan.operand(2), ChannelShape::make(shape.m, shape.n, 1, true));
}

void plan_convert(KernelPlan& plan, const Convert& shape) {
  const std::string_view from = to_string(shape.dtype == DataType::tf32 ? DataType::f32 : shape.dtype);
  const DataType wider =
      element_size(shape.dtype) > element_size(shape.to_dtype) ? shape.dtype : shape.to_dtype;
  const std::int64_t area = shape.h * shape.w;
  if (!moves_elements(shape)) {
    const std::int64_t count = shape.n * shape.c * area;
    plan.add_covering(fmt::format("convert_{}", from), shape.to_dtype, vectors_of(count, wider),
                      plan.operand(1), plan.operand(0), static_cast<std::uint64_t>(count));
    return;
  }
  // Each image is a matrix: c·(h·w) in NCHW.
  const auto bytes = static_cast<std::size_t>(element_size(wider).value());
  const auto matrix = shape.from == Layout::nchw ? TransposeShape::make(shape.c, area, bytes)
                                                 : TransposeShape::make(area, shape.c, bytes);
  plan.add(fmt::format("transpose_{}", from), shape.to_dtype, shape.n * matrix.tiles(), kBlockThreads,
           plan.operand(1), plan.operand(0), matrix);
}

namespace {

/// Same layout as the kernels' type of this name.
struct OptimizerTensors {
  DeviceAddress parameter = 0, first = 0, second = 0;
  DeviceAddress old_parameter = 0, gradient = 0, old_first = 0, old_second = 0;
};

}  // namespace

void plan_optimizer(KernelPlan& plan, const OptimizerStep& shape) {
  const Operation operation(shape);
  // Besides parameter, gradient and new parameter, each state is an operand before and after the step.
  const std::size_t states = (operation.operands().size() - 3) / 2, inputs = 2 + states;
  OptimizerTensors tensors;
  tensors.old_parameter = plan.operand(0);
  tensors.gradient = plan.operand(1);
  tensors.parameter = plan.operand(inputs);
  if (states > 0) {
    tensors.old_first = plan.operand(2);
    tensors.first = plan.operand(inputs + 1);
  }
  if (states > 1) {
    tensors.old_second = plan.operand(3);
    tensors.second = plan.operand(inputs + 2);
  }
  plan.add_covering(operation.kind(), shape.dtype, vectors_of(shape.count, shape.dtype), tensors,
                    static_cast<std::uint64_t>(shape.count));
}

namespace {

void add_places(KernelPlan& plan, std::string_view name, const Embedding& shape, DeviceAddress to,
                DeviceAddress indices, DeviceAddress from) {
  const bool whole = shape.columns % elements_of_vector(shape.dtype) == 0;
  const std::int64_t elements = shape.count * shape.columns;
  plan.add_covering(name, shape.dtype, whole ? vectors_of(elements, shape.dtype) : elements, to, indices,
                    from, static_cast<std::uint64_t>(shape.count), FastDivisor(shape.columns));
}

// Numbers of 16 bits are summed in f32.
void plan_backward(KernelPlan& plan, const Embedding& shape) {
  const std::int64_t elements = shape.rows * shape.columns;
  const bool rounds = element_size(shape.dtype) == Bytes(2);
  const Bytes size(elements * compute_size(shape.dtype).value());
  const DeviceAddress sums = rounds ? plan.workspace(size) : plan.operand(2);
  plan.add_zero({sums, size});
  add_places(plan, "embedding_backward", shape, sums, plan.operand(1), plan.operand(0));
  if (!rounds) return;
  plan.add_covering("embedding_round_sums", shape.dtype, vectors_of(elements, shape.dtype), plan.operand(2),
                    sums, static_cast<std::uint64_t>(elements));
}

}  // namespace

void plan_embedding(KernelPlan& plan, const Embedding& shape) {
  if (shape.pass == Pass::backward) {
    plan_backward(plan, shape);
  } else {
    add_places(plan, "embedding_forward", shape, plan.operand(2), plan.operand(0), plan.operand(1));
  }
}

void plan_softmax(KernelPlan& plan, const Softmax& shape) {
  const unsigned threads = row_threads(shape.columns, shape.dtype);
  const auto columns = static_cast<std::uint64_t>(shape.columns);
  if (shape.pass == Pass::backward) {
    plan.add("softmax_backward", shape.dtype, shape.rows, threads, plan.operand(2), plan.operand(0),
             plan.operand(1), columns, shape.logarithm);
  } else {
    plan.add("softmax_forward", shape.dtype, shape.rows, threads, plan.operand(1), plan.operand(0), columns,
             shape.logarithm);
  }
}

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

// A stride beyond the input gives one window, however large it is.
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

// A warp shares each window if windows are large and few, as with whole planes.
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

namespace {

/// Same layout as the kernels' type of this name.
struct WeightTerms {
  DeviceAddress dy, x, mean, deviation;
  std::uint32_t columns;
};

void plan_forward(KernelPlan& plan, const LayerNorm& shape) {
  plan.add("layer_norm_forward", shape.dtype, shape.rows, row_threads(shape.columns, shape.dtype),
           plan.operand(3), plan.operand(4), plan.operand(5), plan.operand(0), plan.operand(1),
           plan.operand(2), static_cast<std::uint64_t>(shape.columns));
}

void plan_backward(KernelPlan& plan, const LayerNorm& shape) {
  const DeviceAddress dy = plan.operand(0), x = plan.operand(1), mean = plan.operand(2),
                      deviation = plan.operand(3);
  plan.add("layer_norm_backward", shape.dtype, shape.rows, row_threads(shape.columns, shape.dtype),
           plan.operand(5), dy, x, plan.operand(4), mean, deviation,
           static_cast<std::uint64_t>(shape.columns));
  const auto columns = static_cast<std::uint32_t>(shape.columns);
  const std::int64_t across = sum_blocks_across(shape.columns);
  const std::int64_t parts = sum_parts_of(shape.rows, shape.columns);
  const PartialSums sums(plan, shape.dtype, parts, shape.columns);
  plan.add("layer_norm_weight_sums", shape.dtype, parts * across, kSumThreads, sums,
           WeightTerms{dy, x, mean, deviation, columns}, static_cast<std::uint64_t>(shape.rows));
  plan.add("layer_norm_weights", shape.dtype, across, kSumThreads, plan.operand(6), plan.operand(7), sums,
           static_cast<std::uint32_t>(parts));
}

}  // namespace

void plan_layer_norm(KernelPlan& plan, const LayerNorm& shape) {
  if (shape.pass == Pass::backward) {
    plan_backward(plan, shape);
  } else {
    plan_forward(plan, shape);
  }
}

// Batch normalization sums each channel, computes statistics or gradients from the sums, and makes one pass
// over the elements. Training reads x twice, backward dy and x: a channel's sums must be known first.

namespace {

/// Same layout as the kernels' types of these names.
struct MomentTerms {
  DeviceAddress x;
  std::uint64_t origin_stride;
};
struct ProductTerms {
  DeviceAddress x, dy, mean;
};
struct ChannelWeights {
  DeviceAddress numbers;
  bool wide;
};

class BatchNormPlan {
 public:
  BatchNormPlan(KernelPlan& plan, const BatchNorm& shape)
      : plan_(plan),
        shape_(shape),
        plane_(shape.h * shape.w),
        channels_last_(shape.layout == Layout::nhwc || plane_ == 1),
        map_(ChannelShape::make(shape.n, shape.c, plane_, channels_last_)) {}

  void forward() {
    const DeviceAddress mean = plan_.operand(4), deviation = plan_.operand(5);
    const MomentTerms terms{plan_.operand(0), static_cast<std::uint64_t>(channels_last_ ? 1 : plane_)};
    const Sums sums = add_sums("moments", terms);
    plan_.add("batch_norm_statistics", shape_.dtype, sum_blocks_across(shape_.c), kSumThreads, mean,
              deviation, channel_numbers(), sums.parts, sums.count, elements(), terms);
    add_normalize(plan_.operand(3), mean, deviation, false);
  }

  void backward() {
    const DeviceAddress x = plan_.operand(0), dy = plan_.operand(1), mean = plan_.operand(3),
                        deviation = plan_.operand(4);
    const Sums sums = add_sums("products", ProductTerms{x, dy, mean});
    const DeviceAddress means = channel_numbers();
    plan_.add("batch_norm_gradients", shape_.dtype, sum_blocks_across(shape_.c), kSumThreads, weights(6),
              weights(7), means, deviation, sums.parts, sums.count, elements());
    plan_.add_covering("batch_norm_backward", shape_.dtype, vectors(), plan_.operand(5), dy, x, mean,
                       deviation, means, weights(2), map_);
  }

  void inference() { add_normalize(plan_.operand(5), plan_.operand(3), plan_.operand(4), true); }

 private:
  struct Sums {
    PartialSums parts;
    std::uint32_t count;
  };

  template <class Terms>
  Sums add_sums(std::string_view name, const Terms& terms) {
    if (!channels_last_) {
      const PartialSums sums(plan_, shape_.dtype, shape_.n, shape_.c);
      constexpr std::int64_t kMostBlocks = 1 << 20;
      const std::int64_t planes = shape_.n * shape_.c;
      plan_.add(fmt::format("batch_norm_{}_planes", name), shape_.dtype, std::min(planes, kMostBlocks),
                row_threads(plane_), sums, terms, static_cast<std::uint64_t>(planes),
                static_cast<std::uint64_t>(plane_));
      return {sums, static_cast<std::uint32_t>(shape_.n)};
    }
    const std::int64_t rows = shape_.n * plane_, parts = sum_parts_of(rows, shape_.c);
    const PartialSums sums(plan_, shape_.dtype, parts, shape_.c);
    plan_.add(fmt::format("batch_norm_{}_pixels", name), shape_.dtype, parts * sum_blocks_across(shape_.c),
              kSumThreads, sums, terms, static_cast<std::uint64_t>(rows));
    return {sums, static_cast<std::uint32_t>(parts)};
  }

  void add_normalize(DeviceAddress y, DeviceAddress mean, DeviceAddress deviation, bool is_variance) {
    plan_.add_covering("batch_norm_forward", shape_.dtype, vectors(), y, plan_.operand(0), mean, deviation,
                       is_variance, weights(1), weights(2), map_);
  }

  /// Allocates two rows with a number for each channel.
  DeviceAddress channel_numbers() {
    return plan_.workspace(Bytes(2 * shape_.c * compute_size(shape_.dtype).value()));
  }
  ChannelWeights weights(std::size_t operand) const {
    return {plan_.operand(operand), shape_.weights == DataType::f32};
  }
  std::uint64_t elements() const { return static_cast<std::uint64_t>(shape_.n * plane_); }
  std::int64_t vectors() const { return vectors_of(static_cast<std::int64_t>(map_.count), shape_.dtype); }

  KernelPlan& plan_;
  const BatchNorm& shape_;
  std::int64_t plane_;
  bool channels_last_;
  ChannelShape map_;
};

}  // namespace

void plan_batch_norm(KernelPlan& plan, const BatchNorm& shape) {
  BatchNormPlan parts(plan, shape);
  switch (shape.pass) {
    case Pass::forward: parts.forward(); break;
    case Pass::backward: parts.backward(); break;
    case Pass::inference: parts.inference(); break;
  }
}

}  // namespace jitterscope::cuda
