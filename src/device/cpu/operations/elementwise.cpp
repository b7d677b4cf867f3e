#include <fmt/format.h>

#include "device/cpu/number_formats.hpp"
#include "device/cpu/operations/prepare.hpp"
#include "jitterscope/error.hpp"

namespace jitterscope::cpu {
namespace {

// Below this many elements starting the threads takes longer than the loop.
constexpr std::int64_t kParallel = 1 << 15;

template <class Format>
class ElementwiseOperation final : public CpuOperation {
 public:
  ElementwiseOperation(const Operation& operation, const InputTable& inputs)
      : CpuOperation(operation, inputs), elementwise_(std::get<Elementwise>(operation.parameters())) {}

  void run(NativeQueue) override {
    switch (elementwise_.kind) {
      case ElementwiseKind::fill: return fill(data<Stored>(0));
      case ElementwiseKind::add: return add(data<const Stored>(0), data<const Stored>(1), data<Stored>(2));
      case ElementwiseKind::relu: return relu(data<const Stored>(0), data<Stored>(1));
      default: return;
    }
  }

 private:
  using Stored = typename Format::Stored;
  using Value = typename Format::Value;

  void fill(Stored* y) const {
    const std::int64_t count = elementwise_.count;
    const Stored one = Format::write(Value(1));
#pragma omp parallel for simd schedule(static) if (count > kParallel)
    for (std::int64_t i = 0; i < count; ++i) y[i] = one;
  }
  void add(const Stored* a, const Stored* b, Stored* y) const {
    const std::int64_t count = elementwise_.count;
#pragma omp parallel for simd schedule(static) if (count > kParallel)
    for (std::int64_t i = 0; i < count; ++i) y[i] = Format::write(Format::read(a[i]) + Format::read(b[i]));
  }
  // Written so that a NaN stays a NaN.
  void relu(const Stored* x, Stored* y) const {
    const std::int64_t count = elementwise_.count;
#pragma omp parallel for simd schedule(static) if (count > kParallel)
    for (std::int64_t i = 0; i < count; ++i) y[i] = Format::read(x[i]) < Value(0) ? Stored(0) : x[i];
  }

  Elementwise elementwise_;
};

}  // namespace

std::unique_ptr<PreparedOperation> prepare_elementwise(const Operation& operation, const InputTable& inputs) {
  if (std::get<Elementwise>(operation.parameters()).kind != ElementwiseKind::fill &&
      std::get<Elementwise>(operation.parameters()).kind != ElementwiseKind::add &&
      std::get<Elementwise>(operation.parameters()).kind != ElementwiseKind::relu) {
    throw UsageError(fmt::format("the cpu has no {}", operation.kind()));
  }
  switch (operation.dtype()) {
    case DataType::f64: return std::make_unique<ElementwiseOperation<Native<double>>>(operation, inputs);
    case DataType::f32: return std::make_unique<ElementwiseOperation<Native<float>>>(operation, inputs);
    case DataType::f16: return std::make_unique<ElementwiseOperation<Half>>(operation, inputs);
    case DataType::bf16: return std::make_unique<ElementwiseOperation<BFloat16>>(operation, inputs);
    case DataType::i64:
    case DataType::tf32: break;
  }
  throw UsageError(fmt::format("the cpu has no tf32 for {}: try dtype=f32", operation.kind()));
}

}  // namespace jitterscope::cpu
