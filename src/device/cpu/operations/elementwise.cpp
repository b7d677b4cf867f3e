#include <fmt/format.h>

#include <type_traits>

#include "device/cpu/number_formats.hpp"
#include "device/cpu/operations/prepare.hpp"
#include "jitterscope/error.hpp"

namespace jitterscope::cpu {
namespace {

// Below this many elements starting the threads takes longer than the loop.
constexpr std::int64_t kParallel = 1 << 15;

// 16-bit types compute in float and round once, as hardware does.
template <class Element>
using Computed = std::conditional_t<std::is_floating_point_v<Element>, Element, float>;

template <class Element>
class ElementwiseOperation final : public CpuOperation {
 public:
  ElementwiseOperation(const Operation& operation, const InputTable& inputs)
      : CpuOperation(operation, inputs), elementwise_(std::get<Elementwise>(operation.parameters())) {}

  void run(NativeQueue) override {
    switch (elementwise_.kind) {
      case ElementwiseKind::fill: return fill(data<Element>(0));
      case ElementwiseKind::add: return add(data<const Element>(0), data<const Element>(1), data<Element>(2));
      case ElementwiseKind::relu: return relu(data<const Element>(0), data<Element>(1));
    }
  }

 private:
  using Value = Computed<Element>;

  void fill(Element* y) const {
    const std::int64_t count = elementwise_.count;
    const Element one = Element(Value(1));
#pragma omp parallel for simd schedule(static) if (count > kParallel)
    for (std::int64_t i = 0; i < count; ++i) y[i] = one;
  }
  void add(const Element* a, const Element* b, Element* y) const {
    const std::int64_t count = elementwise_.count;
#pragma omp parallel for simd schedule(static) if (count > kParallel)
    for (std::int64_t i = 0; i < count; ++i)
      y[i] = Element(static_cast<Value>(a[i]) + static_cast<Value>(b[i]));
  }
  // Written so that a NaN stays a NaN.
  void relu(const Element* x, Element* y) const {
    const std::int64_t count = elementwise_.count;
#pragma omp parallel for simd schedule(static) if (count > kParallel)
    for (std::int64_t i = 0; i < count; ++i) {
      const Value value = static_cast<Value>(x[i]);
      y[i] = Element(value < Value(0) ? Value(0) : value);
    }
  }

  Elementwise elementwise_;
};

}  // namespace

std::unique_ptr<PreparedOperation> prepare_elementwise(const Operation& operation, const InputTable& inputs) {
  switch (operation.dtype()) {
    case DataType::f64: return std::make_unique<ElementwiseOperation<double>>(operation, inputs);
    case DataType::f32: return std::make_unique<ElementwiseOperation<float>>(operation, inputs);
    case DataType::f16: return std::make_unique<ElementwiseOperation<Half>>(operation, inputs);
    case DataType::bf16: return std::make_unique<ElementwiseOperation<BFloat16>>(operation, inputs);
    case DataType::tf32: break;
  }
  throw UsageError(fmt::format("the cpu has no tf32 for {}: try dtype=f32", operation.kind()));
}

}  // namespace jitterscope::cpu
