// What a layer launches, as data: kernels by name with their arguments, so that the choice of kernels, grids
// and workspaces is made, and tested, apart from the GPU.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "device/cuda/kernels/host_device.hpp"
#include "jitterscope/operation.hpp"
#include "jitterscope/units.hpp"

namespace jitterscope::cuda {

// The files of kernels/, as CMakeLists.txt compiles them.
#define JITTERSCOPE_LAYER_KERNEL_FILES(X) \
  X(average_planes)                       \
  X(batch_norm)                           \
  X(batch_norm_finish)                    \
  X(batch_norm_sums)                      \
  X(bias_add)                             \
  X(elementwise)                          \
  X(embedding)                            \
  X(embedding_binned)                     \
  X(embedding_bins)                       \
  X(layer_norm)                           \
  X(layer_norm_backward)                  \
  X(layer_norm_passing)                   \
  X(layer_norm_streamed)                  \
  X(layer_norm_weights)                   \
  X(optimizer)                            \
  X(plane_spread)                         \
  X(pooling_backward)                     \
  X(pooling_backward_rows)                \
  X(pooling_backward_tiles)               \
  X(pooling_forward)                      \
  X(pooling_forward_rows)                 \
  X(pooling_forward_tiles)                \
  X(softmax)                              \
  X(softmax_cluster)                      \
  X(softmax_shared)                       \
  X(softmax_streamed)

/// Each is a module that is loaded when an operation first needs it.
enum class KernelFile {
#define JITTERSCOPE_NAME(name) name,
  JITTERSCOPE_LAYER_KERNEL_FILES(JITTERSCOPE_NAME)
#undef JITTERSCOPE_NAME
};

/// Names a kernel: its file and the name there, which ends in the data type.
struct KernelName {
  KernelFile file;
  std::string name;

  KernelName(KernelFile in, std::string_view base, DataType dtype);
};

/// An address on the GPU, as a kernel takes a pointer.
using DeviceAddress = std::uint64_t;

/// One launch of one kernel.
struct KernelStep {
  KernelName kernel;
  unsigned blocks, threads;
  Bytes shared;                  ///< memory of each block, beside what the kernel itself declares
  std::shared_ptr<void> values;  ///< keeps what `arguments` points to
  std::vector<void*> arguments;
};
/// One stretch of memory set to zero.
struct ZeroStep {
  DeviceAddress address;
  Bytes size;
};

/// Collects the steps of one operation.
class KernelPlan {
 public:
  virtual ~KernelPlan() = default;

  virtual DeviceAddress operand(std::size_t index) const = 0;
  /// Memory that lives as long as the plan, zero at first.
  virtual DeviceAddress workspace(Bytes size) = 0;
  /// How many blocks the GPU runs at once, where each has so much shared memory.
  virtual std::int64_t resident_blocks(const KernelName& kernel, unsigned threads, Bytes shared) = 0;
  std::int64_t resident_blocks(const KernelName& kernel, unsigned threads) {
    return resident_blocks(kernel, threads, Bytes(0));
  }
  /// The most shared memory that a launch can ask for.
  virtual Bytes largest_shared_memory(const KernelName& kernel) = 0;
  /// How many blocks of the kernel form a cluster: 1 where the GPU, or what was compiled for it, has none.
  virtual std::int64_t cluster_blocks(const KernelName& kernel) = 0;

  /// Arguments as the kernel takes them, addresses as DeviceAddress.
  template <class... Arguments>
  void add(const KernelName& kernel, std::int64_t blocks, unsigned threads, Arguments... arguments) {
    add_sharing(kernel, blocks, threads, Bytes(0), arguments...);
  }
  /// The same of blocks with so much shared memory.
  template <class... Arguments>
  void add_sharing(const KernelName& kernel, std::int64_t blocks, unsigned threads, Bytes shared,
                   Arguments... arguments) {
    auto values = std::make_shared<std::tuple<Arguments...>>(arguments...);
    std::vector<void*> pointers;
    std::apply([&](auto&... value) { (pointers.push_back(&value), ...); }, *values);
    add_step(KernelStep{kernel, static_cast<unsigned>(blocks), threads, shared, std::move(values),
                        std::move(pointers)});
  }
  /// A kernel whose threads each take item after item: as many blocks as the GPU holds, or fewer.
  template <class... Arguments>
  void add_filling(const KernelName& kernel, std::int64_t items, Arguments... arguments) {
    add(kernel, filling_blocks(kernel, items), kBlockThreads, arguments...);
  }
  /// A kernel whose threads take `each` items and end: the next block goes to whichever SM is free.
  template <class... Arguments>
  void add_covering(const KernelName& kernel, std::int64_t items, int each, Arguments... arguments) {
    const std::int64_t per_block = std::int64_t{kBlockThreads} * each;
    add(kernel, std::max<std::int64_t>((items + per_block - 1) / per_block, 1), kBlockThreads, arguments...);
  }
  virtual void add_zero(const ZeroStep& step) = 0;

 protected:
  virtual void add_step(KernelStep step) = 0;

 private:
  std::int64_t filling_blocks(const KernelName& kernel, std::int64_t items);
};

/// Numbers of 16 bits are computed in f32; statistics and sums are kept in it as well.
inline Bytes compute_size(DataType dtype) { return Bytes(dtype == DataType::f64 ? 8 : 4); }
inline int elements_of_vector(DataType dtype) { return static_cast<int>(16 / element_size(dtype).value()); }

void plan_elementwise(KernelPlan& plan, const Elementwise& shape);
void plan_pool(KernelPlan& plan, const Pool2d& shape);
void plan_softmax(KernelPlan& plan, const Softmax& shape);
void plan_layer_norm(KernelPlan& plan, const LayerNorm& shape);
void plan_batch_norm(KernelPlan& plan, const BatchNorm& shape);
void plan_bias_add(KernelPlan& plan, const BiasAdd& shape);
/// The bias of a product into every row of its result, to which the rest is then added.
void plan_bias_broadcast(KernelPlan& plan, const Matmul& shape);
void plan_embedding(KernelPlan& plan, const Embedding& shape);
void plan_optimizer(KernelPlan& plan, const OptimizerStep& shape);

}  // namespace jitterscope::cuda
