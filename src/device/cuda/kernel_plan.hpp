// The launches of a layer as data: kernels by name with their arguments. Grids and workspaces can thus be
// chosen, and tested, without a GPU.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "device/cuda/kernels/shapes.hpp"
#include "jitterscope/operation.hpp"
#include "jitterscope/units.hpp"

namespace jitterscope::cuda {

/// An address on the GPU, in the form in which a kernel takes a pointer.
using DeviceAddress = std::uint64_t;

/// One launch of one kernel.
struct KernelStep {
  std::string kernel;  ///< its name in layer_kernels.cu, which ends in the data type
  unsigned blocks, threads;
  std::shared_ptr<void> values;  ///< keeps what `arguments` points to
  std::vector<void*> arguments;
};
/// A range of memory that is set to zero.
struct ZeroStep {
  DeviceAddress address;
  Bytes size;
};

/// Collects the steps of one operation.
class KernelPlan {
 public:
  virtual ~KernelPlan() = default;

  virtual DeviceAddress operand(std::size_t index) const = 0;
  /// Returns memory that lives as long as the plan and is zero at first.
  virtual DeviceAddress workspace(Bytes size) = 0;

  /// Adds a launch. Arguments have the types that the kernel takes; addresses are DeviceAddress.
  template <class... Arguments>
  void add(std::string_view base, DataType dtype, std::int64_t blocks, unsigned threads,
           Arguments... arguments) {
    auto values = std::make_shared<std::tuple<Arguments...>>(arguments...);
    std::vector<void*> pointers;
    std::apply([&](auto&... value) { (pointers.push_back(&value), ...); }, *values);
    add_step(KernelStep{kernel_name(base, dtype), static_cast<unsigned>(blocks), threads, std::move(values),
                        std::move(pointers)});
  }
  /// Adds a launch of a kernel in which each thread takes one item.
  template <class... Arguments>
  void add_covering(std::string_view base, DataType dtype, std::int64_t items, Arguments... arguments) {
    add(base, dtype, (items + kBlockThreads - 1) / kBlockThreads, kBlockThreads, arguments...);
  }
  virtual void add_zero(const ZeroStep& step) = 0;

 protected:
  virtual void add_step(KernelStep step) = 0;

 private:
  static std::string kernel_name(std::string_view base, DataType dtype);
};

/// Returns the size of the type of arithmetic, statistics and sums: f32 for types of 16 bits.
inline Bytes compute_size(DataType dtype) { return Bytes(dtype == DataType::f64 ? 8 : 4); }
/// Returns the number of elements in a vector of 16 bytes.
inline std::int64_t elements_of_vector(DataType dtype) { return 16 / element_size(dtype).value(); }
/// Returns the number of vectors for `count` elements; the last one may be incomplete.
inline std::int64_t vectors_of(std::int64_t count, DataType dtype) {
  return (count + elements_of_vector(dtype) - 1) / elements_of_vector(dtype);
}
/// Returns the number of threads of a block that works on a row of so many items.
unsigned row_threads(std::int64_t items);
/// The same for threads that take vectors if every row begins at a vector, else single elements.
unsigned row_threads(std::int64_t columns, DataType dtype);

void plan_elementwise(KernelPlan& plan, const Elementwise& shape);
void plan_pool(KernelPlan& plan, const Pool2d& shape);
void plan_softmax(KernelPlan& plan, const Softmax& shape);
void plan_layer_norm(KernelPlan& plan, const LayerNorm& shape);
void plan_batch_norm(KernelPlan& plan, const BatchNorm& shape);
void plan_bias_add(KernelPlan& plan, const BiasAdd& shape);
/// Copies the bias of a product into every row of its result; the product is added afterwards.
void plan_bias_broadcast(KernelPlan& plan, const Matmul& shape);
void plan_convert(KernelPlan& plan, const Convert& shape);
void plan_embedding(KernelPlan& plan, const Embedding& shape);
void plan_optimizer(KernelPlan& plan, const OptimizerStep& shape);

}  // namespace jitterscope::cuda
