// Batch normalization by jitterscope's own kernels: each channel's sums, what follows from them, and one pass
// over the elements. Training reads x twice, and backward dy and x: a channel's sums must be known first.
#include <fmt/format.h>

#include "device/cuda/kernel_plan.hpp"
#include "device/cuda/kernels/channel_shape.hpp"
#include "device/cuda/kernels/row_slots.hpp"
#include "device/cuda/kernels/sums_shape.hpp"

namespace jitterscope::cuda {
namespace {

struct Channels {
  DeviceAddress x;
  std::uint64_t stride;
  std::uint32_t count;
};
struct MomentTerms {
  Channels channels;
};
struct ProductTerms {
  Channels channels;
  DeviceAddress dy, mean;
};
struct Parts {
  DeviceAddress first, second;
  std::uint32_t parts, channels;
  std::uint64_t elements;
};
struct Statistics {
  DeviceAddress mean, deviation, numbers, running, weight, bias;
};
struct Gradients {
  DeviceAddress dweight, dbias, numbers, weight, deviation;
};

class BatchNormPlan {
 public:
  BatchNormPlan(KernelPlan& plan, const BatchNorm& shape)
      : plan_(plan),
        shape_(shape),
        last_(shape.layout == Layout::nhwc),
        per_vector_(elements_of_vector(shape.dtype)),
        plane_(shape.h * shape.w) {}

  void forward() {
    const Channels channels = channels_of(plan_.operand(0));
    const Parts parts = add_sums("moments", MomentTerms{channels});
    const DeviceAddress numbers = channel_numbers(2);
    const Statistics statistics{plan_.operand(4),   plan_.operand(5), numbers,
                                channel_numbers(2), plan_.operand(1), plan_.operand(2)};
    plan_.add(finish("batch_norm_statistics"), channel_blocks(32), 1024, statistics, parts, channels.x,
              channels.stride);
    add_normalize(plan_.operand(3), plan_.operand(4), numbers);
  }

  void backward() {
    const Channels channels = channels_of(plan_.operand(0));
    const Parts parts = add_sums("products", ProductTerms{channels, plan_.operand(1), plan_.operand(3)});
    const DeviceAddress numbers = channel_numbers(3);
    const Gradients gradients{plan_.operand(6), plan_.operand(7), numbers, plan_.operand(2),
                              plan_.operand(4)};
    plan_.add(finish("batch_norm_gradients"), channel_blocks(32), 1024, gradients, parts);
    const ChannelShape map = channel_shape();
    plan_.add_filling(KernelName(KernelFile::batch_norm, "batch_norm_gradient", shape_.dtype), vectors(map),
                      plan_.operand(5), plan_.operand(1), plan_.operand(0), plan_.operand(3), numbers,
                      static_cast<std::uint64_t>(shape_.c), map);
  }

  void inference() {
    const DeviceAddress numbers = channel_numbers(2);
    plan_.add(finish("batch_norm_fixed"), channel_blocks(256), 256, numbers, plan_.operand(4),
              plan_.operand(1), plan_.operand(2), static_cast<std::uint32_t>(shape_.c));
    add_normalize(plan_.operand(5), plan_.operand(3), numbers);
  }

 private:
  std::int64_t channel_blocks(std::int64_t each) const { return (shape_.c + each - 1) / each; }
  KernelName finish(std::string_view base) const {
    const char* weights = shape_.weights == DataType::f32 ? "wide" : "own";
    return KernelName(KernelFile::batch_norm_finish, fmt::format("{}_{}", base, weights), shape_.dtype);
  }
  Channels channels_of(DeviceAddress x) const {
    return {x, static_cast<std::uint64_t>(last_ ? 1 : plane_), static_cast<std::uint32_t>(shape_.c)};
  }
  DeviceAddress channel_numbers(std::int64_t rows) {
    return plan_.workspace(Bytes(rows * shape_.c * compute_size(shape_.dtype).value()));
  }
  ChannelShape channel_shape() const {
    return ChannelShape::make(shape_.n, shape_.c, plane_, last_, per_vector_);
  }
  std::int64_t vectors(const ChannelShape& map) const {
    return static_cast<std::int64_t>(map.count) / per_vector_;
  }
  void add_normalize(DeviceAddress y, DeviceAddress mean, DeviceAddress numbers) {
    const ChannelShape map = channel_shape();
    plan_.add_filling(KernelName(KernelFile::batch_norm, "batch_norm_normalize", shape_.dtype), vectors(map),
                      y, plan_.operand(0), mean, numbers, static_cast<std::uint64_t>(shape_.c), map);
  }

  template <class Terms>
  Parts add_sums(std::string_view name, const Terms& terms) {
    return last_ ? add_pixel_sums(name, terms) : add_plane_sums(name, terms);
  }

  Parts make_parts(std::int64_t parts) {
    const std::int64_t size = parts * shape_.c * compute_size(shape_.dtype).value();
    const DeviceAddress first = plan_.workspace(Bytes(2 * size));
    return {first, first + static_cast<DeviceAddress>(size), static_cast<std::uint32_t>(parts),
            static_cast<std::uint32_t>(shape_.c), static_cast<std::uint64_t>(shape_.n * plane_)};
  }

  // A warp takes up to 4 vectors of a plane for each of its threads, 8 threads as many.
  template <class Terms>
  Parts add_plane_sums(std::string_view name, const Terms& terms) {
    const std::int64_t slots = most_slots(plane_, per_vector_);
    const int group = group_of(slots);
    const std::int64_t planes = shape_.n * shape_.c;
    const std::int64_t each = 256 / group;
    const Parts parts = make_parts(shape_.n);
    plan_.add(KernelName(KernelFile::batch_norm_sums, fmt::format("batch_norm_{}_planes{}", name, group),
                         shape_.dtype),
              (planes + each - 1) / each, 256, parts.first, parts.second, terms,
              static_cast<std::uint64_t>(planes), static_cast<std::uint64_t>(plane_));
    return parts;
  }

  template <class Terms>
  Parts add_pixel_sums(std::string_view name, const Terms& terms) {
    const bool whole = shape_.c % per_vector_ == 0;
    const KernelName kernel(KernelFile::batch_norm_sums,
                            fmt::format("batch_norm_{}_pixels_{}", name, whole ? "vector" : "single"),
                            shape_.dtype);
    const auto threads = static_cast<unsigned>(kSumThreads);
    const auto columns = ColumnSumShape::make(shape_.n * plane_, shape_.c, whole ? per_vector_ : 1,
                                              plan_.resident_blocks(kernel, threads));
    const Parts parts = make_parts(columns.row_blocks);
    plan_.add(kernel, columns.blocks(), threads, parts.first, parts.second, terms, columns);
    return parts;
  }

  KernelPlan& plan_;
  const BatchNorm& shape_;
  bool last_;
  int per_vector_;
  std::int64_t plane_;
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
