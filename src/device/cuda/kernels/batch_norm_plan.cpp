// Each channel's sums, what follows from them, and one pass over the elements. Training reads x twice, and
// backward dy and x: a channel's sums must be known first.
#include <fmt/format.h>

#include <algorithm>

#include "device/cuda/kernel_plan.hpp"
#include "device/cuda/kernels/channel_shape.hpp"
#include "device/cuda/kernels/sums_plan.hpp"

namespace jitterscope::cuda {
namespace {

/// What the kernels know by the same names.
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

  /// Two rows of them.
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
