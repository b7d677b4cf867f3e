#include <cmath>
#include <numbers>

#include "device/cpu/operations/loops.hpp"
#include "device/cpu/operations/prepare.hpp"

namespace jitterscope::cpu {
namespace {

template <class Value>
Value sigmoid(Value x) {
  return Value(1) / (Value(1) + std::exp(-x));
}
template <class Value>
Value normal_cdf(Value x) {
  return Value(0.5) * std::erfc(-x / std::numbers::sqrt2_v<Value>);
}
template <class Value>
Value normal_pdf(Value x) {
  return std::exp(Value(-0.5) * x * x) * (std::numbers::inv_sqrtpi_v<Value> / std::numbers::sqrt2_v<Value>);
}

template <class Format>
class ElementwiseLoops final : public CpuOperation {
 public:
  ElementwiseLoops(const Operation& operation, const InputTable& inputs)
      : CpuOperation(operation, inputs), elementwise_(std::get<Elementwise>(operation.parameters())) {}

  void run(NativeQueue) override {
    switch (elementwise_.kind) {
      case ElementwiseKind::fill: return fill();
      case ElementwiseKind::add: return binary([](Value a, Value b) { return a + b; });
      case ElementwiseKind::mul: return binary([](Value a, Value b) { return a * b; });
      default: break;
    }
    elementwise_.kind < ElementwiseKind::relu_backward ? forward() : backward();
  }

 private:
  using Stored = typename Format::Stored;
  using Value = typename Format::Value;

  // Written so that a NaN stays a NaN.
  void forward() const {
    switch (elementwise_.kind) {
      case ElementwiseKind::relu: return relu(data<const Stored>(0), data<Stored>(1));
      case ElementwiseKind::relu6:
        return unary([](Value x) { return x < Value(0) ? Value(0) : x > Value(6) ? Value(6) : x; });
      case ElementwiseKind::sigmoid: return unary([](Value x) { return sigmoid(x); });
      case ElementwiseKind::tanh: return unary([](Value x) { return std::tanh(x); });
      case ElementwiseKind::silu: return unary([](Value x) { return x * sigmoid(x); });
      default: return unary([](Value x) { return x * normal_cdf(x); });
    }
  }

  void backward() const {
    switch (elementwise_.kind) {
      case ElementwiseKind::relu_backward:
        return binary([](Value dy, Value y) { return y <= Value(0) ? Value(0) : dy; });
      case ElementwiseKind::relu6_backward:
        return binary([](Value dy, Value x) { return x <= Value(0) || x >= Value(6) ? Value(0) : dy; });
      case ElementwiseKind::sigmoid_backward:
        return binary([](Value dy, Value y) { return dy * y * (Value(1) - y); });
      case ElementwiseKind::tanh_backward:
        return binary([](Value dy, Value y) { return dy * (Value(1) - y * y); });
      case ElementwiseKind::silu_backward:
        return binary([](Value dy, Value x) {
          const Value s = sigmoid(x);
          return dy * s * (Value(1) + x * (Value(1) - s));
        });
      default: return binary([](Value dy, Value x) { return dy * (normal_cdf(x) + x * normal_pdf(x)); });
    }
  }

  void fill() const {
    auto* y = data<Stored>(0);
    const std::int64_t count = elementwise_.count;
    const Stored one = Format::write(Value(1));
#pragma omp parallel for simd schedule(static) if (count > kParallel)
    for (std::int64_t i = 0; i < count; ++i) y[i] = one;
  }
  // A selection of stored bits, which vectorises without conversions.
  void relu(const Stored* x, Stored* y) const {
    const std::int64_t count = elementwise_.count;
#pragma omp parallel for simd schedule(static) if (count > kParallel)
    for (std::int64_t i = 0; i < count; ++i) y[i] = Format::read(x[i]) < Value(0) ? Stored(0) : x[i];
  }
  template <class Function>
  void unary(const Function& function) const {
    const auto* x = data<const Stored>(0);
    auto* y = data<Stored>(1);
    const std::int64_t count = elementwise_.count;
#pragma omp parallel for simd schedule(static) if (count > kParallel)
    for (std::int64_t i = 0; i < count; ++i) y[i] = Format::write(function(Format::read(x[i])));
  }
  template <class Function>
  void binary(const Function& function) const {
    const auto *a = data<const Stored>(0), *b = data<const Stored>(1);
    auto* y = data<Stored>(2);
    const std::int64_t count = elementwise_.count;
#pragma omp parallel for simd schedule(static) if (count > kParallel)
    for (std::int64_t i = 0; i < count; ++i) {
      y[i] = Format::write(function(Format::read(a[i]), Format::read(b[i])));
    }
  }

  Elementwise elementwise_;
};

template <class Format>
class BiasLoops final : public CpuOperation {
 public:
  BiasLoops(const Operation& operation, const InputTable& inputs)
      : CpuOperation(operation, inputs), bias_(std::get<BiasAdd>(operation.parameters())) {}

  // Runs of one channel where channels lie apart, of all channels where they lie side by side.
  void run(NativeQueue) override {
    const bool last = bias_.layout == Layout::nhwc;
    const std::int64_t area = bias_.h * bias_.w;
    const std::int64_t runs = bias_.n * (last ? area : bias_.c), length = last ? bias_.c : area;
    const auto *x = data<const Stored>(0), *bias = data<const Stored>(1);
    auto* y = data<Stored>(2);
#pragma omp parallel for schedule(static) if (runs * length > kParallel)
    for (std::int64_t run = 0; run < runs; ++run) {
      const std::int64_t first = run * length;
      const Stored* from = last ? bias : bias + run % bias_.c;
#pragma omp simd
      for (std::int64_t i = 0; i < length; ++i) {
        y[first + i] = Format::write(Format::read(x[first + i]) + Format::read(from[last ? i : 0]));
      }
    }
  }

 private:
  using Stored = typename Format::Stored;
  BiasAdd bias_;
};

}  // namespace

std::unique_ptr<PreparedOperation> prepare_elementwise(const Operation& operation, const InputTable& inputs) {
  return prepare_loops<ElementwiseLoops>(operation, inputs);
}
std::unique_ptr<PreparedOperation> prepare_bias_add(const Operation& operation, const InputTable& inputs) {
  return prepare_loops<BiasLoops>(operation, inputs);
}

}  // namespace jitterscope::cpu
