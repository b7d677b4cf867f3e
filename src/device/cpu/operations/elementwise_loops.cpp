#include <algorithm>
#include <cmath>
#include <cstring>
#include <numbers>
#include <type_traits>
#include <vector>

#include "device/cpu/operations/cpu_operation.hpp"
#include "device/cpu/operations/prepare.hpp"
#include "operation/kinds_elementwise.hpp"

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

  // A NaN stays a NaN in these comparisons.
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
  // Selects stored bits, which vectorises without conversions.
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

  // A run is one channel's elements in nchw, and all channels of one pixel in nhwc.
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

namespace {

template <class To, class From>
typename To::Stored converted(typename From::Stored value) {
  if constexpr (std::is_same_v<From, To>) {
    return value;
  } else {
    return To::write(static_cast<typename To::Value>(From::read(value)));
  }
}

// Rows lie far apart, so tiles are small: their lines are read once and stay in the cache.
constexpr std::int64_t kConvertTile = 32;

template <class To, class From>
void transpose_tile(typename To::Stored* y, const typename From::Stored* x, std::int64_t rows,
                    std::int64_t columns, std::int64_t first_row, std::int64_t first_column) {
  const std::int64_t last_row = std::min(first_row + kConvertTile, rows);
  const std::int64_t last_column = std::min(first_column + kConvertTile, columns);
  for (std::int64_t column = first_column; column < last_column; ++column) {
    for (std::int64_t row = first_row; row < last_row; ++row) {
      y[column * rows + row] = converted<To, From>(x[row * columns + column]);
    }
  }
}

template <class From, class To>
class ConvertLoops final : public CpuOperation {
 public:
  ConvertLoops(const Operation& operation, const InputTable& inputs)
      : CpuOperation(operation, inputs), convert_(std::get<Convert>(operation.parameters())) {}

  void run(NativeQueue) override { moves_elements(convert_) ? transpose() : convert_in_order(); }

 private:
  void convert_in_order() const {
    const auto* x = data<const typename From::Stored>(0);
    auto* y = data<typename To::Stored>(1);
    const std::int64_t count = convert_.n * convert_.c * convert_.h * convert_.w;
#pragma omp parallel for simd schedule(static) if (count > kParallel)
    for (std::int64_t i = 0; i < count; ++i) y[i] = converted<To, From>(x[i]);
  }

  // In NCHW each image is a matrix of c x (h·w).
  void transpose() const {
    const auto* x = data<const typename From::Stored>(0);
    auto* y = data<typename To::Stored>(1);
    const std::int64_t area = convert_.h * convert_.w, image = convert_.c * area;
    const std::int64_t columns = convert_.from == Layout::nchw ? area : convert_.c, rows = image / columns;
    const std::int64_t across = (columns + kConvertTile - 1) / kConvertTile;
    const std::int64_t tiles = (rows + kConvertTile - 1) / kConvertTile * across;
#pragma omp parallel for schedule(static) if (convert_.n * image > kParallel)
    for (std::int64_t i = 0; i < convert_.n * tiles; ++i) {
      const std::int64_t first = i / tiles * image, tile = i % tiles;
      transpose_tile<To, From>(y + first, x + first, rows, columns, tile / across * kConvertTile,
                               tile % across * kConvertTile);
    }
  }

  Convert convert_;
};

}  // namespace

std::unique_ptr<PreparedOperation> prepare_convert(const Operation& operation, const InputTable& inputs) {
  const auto& convert = std::get<Convert>(operation.parameters());
  return with_loop_format(convert.dtype, [&]<class From>(From) {
    return with_loop_format(convert.to_dtype, [&]<class To>(To) -> std::unique_ptr<PreparedOperation> {
      return std::make_unique<ConvertLoops<From, To>>(operation, inputs);
    });
  });
}

namespace {

constexpr double kRate = 0.01, kMomentum = 0.9, kDecay = 0.01, kAdamEpsilon = 1e-8;
constexpr double kMeanDecay = 0.9, kSquareDecay = 0.999;

template <class Format>
class OptimizerLoops final : public CpuOperation {
 public:
  OptimizerLoops(const Operation& operation, const InputTable& inputs)
      : CpuOperation(operation, inputs), step_(std::get<OptimizerStep>(operation.parameters())) {}

  void run(NativeQueue) override {
    switch (step_.kind) {
      case OptimizerKind::sgd: return sgd();
      case OptimizerKind::momentum: return momentum();
      case OptimizerKind::adam: return adam(Value(1));
      case OptimizerKind::adamw: return adam(Value(1.0 - kRate * kDecay));
    }
  }

 private:
  using Stored = typename Format::Stored;
  using Value = typename Format::Value;

  Value read(std::size_t operand, std::int64_t i) const {
    return Format::read(data<const Stored>(operand)[i]);
  }
  void write(std::size_t operand, std::int64_t i, Value value) const {
    data<Stored>(operand)[i] = Format::write(value);
  }

  void sgd() const {
#pragma omp parallel for simd schedule(static) if (step_.count > kParallel)
    for (std::int64_t i = 0; i < step_.count; ++i) write(2, i, read(0, i) - Value(kRate) * read(1, i));
  }

  void momentum() const {
#pragma omp parallel for simd schedule(static) if (step_.count > kParallel)
    for (std::int64_t i = 0; i < step_.count; ++i) {
      const Value next = Value(kMomentum) * read(2, i) + read(1, i);
      write(3, i, read(0, i) - Value(kRate) * next);
      write(4, i, next);
    }
  }

  // The bias corrections are those of the first step.
  void adam(Value kept) const {
    const auto step = Value(kRate / (1.0 - kMeanDecay)), correction = Value(std::sqrt(1.0 - kSquareDecay));
#pragma omp parallel for simd schedule(static) if (step_.count > kParallel)
    for (std::int64_t i = 0; i < step_.count; ++i) {
      const Value gradient = read(1, i);
      const Value mean = Value(kMeanDecay) * read(2, i) + Value(1.0 - kMeanDecay) * gradient;
      const Value square = Value(kSquareDecay) * read(3, i) + Value(1.0 - kSquareDecay) * gradient * gradient;
      const Value denominator = std::sqrt(square) / correction + Value(kAdamEpsilon);
      write(4, i, read(0, i) * kept - step * mean / denominator);
      write(5, i, mean);
      write(6, i, square);
    }
  }

  OptimizerStep step_;
};

}  // namespace

std::unique_ptr<PreparedOperation> prepare_optimizer_step(const Operation& operation,
                                                          const InputTable& inputs) {
  return prepare_loops<OptimizerLoops>(operation, inputs);
}

namespace {

template <class Format>
class EmbeddingLoops final : public CpuOperation {
 public:
  EmbeddingLoops(const Operation& operation, const InputTable& inputs)
      : CpuOperation(operation, inputs), embedding_(std::get<Embedding>(operation.parameters())) {}

  void run(NativeQueue) override { embedding_.pass == Pass::backward ? backward() : forward(); }

 private:
  using Stored = typename Format::Stored;

  void forward() const {
    const std::int64_t columns = embedding_.columns;
    const auto row = static_cast<std::size_t>(columns) * sizeof(Stored);
    const auto* indices = data<const std::int64_t>(0);
#pragma omp parallel for schedule(static) if (embedding_.count * columns > kParallel)
    for (std::int64_t i = 0; i < embedding_.count; ++i) {
      std::memcpy(data<Stored>(2) + i * columns, data<const Stored>(1) + indices[i] * columns, row);
    }
  }

  // Sorts by row first, so that each row is summed by one thread and rounded once.
  void backward() {
    sort_by_row();
#pragma omp parallel for schedule(dynamic, 64) if (embedding_.rows * embedding_.columns > kParallel)
    for (std::int64_t row = 0; row < embedding_.rows; ++row) sum_row(row);
  }

  void sort_by_row() {
    const auto* indices = data<const std::int64_t>(1);
    starts_.assign(static_cast<std::size_t>(embedding_.rows) + 1, 0);
    order_.resize(static_cast<std::size_t>(embedding_.count));
    for (std::int64_t i = 0; i < embedding_.count; ++i) ++starts_[static_cast<std::size_t>(indices[i]) + 1];
    for (std::size_t row = 1; row < starts_.size(); ++row) starts_[row] += starts_[row - 1];
    next_.assign(starts_.begin(), starts_.end() - 1);
    for (std::int64_t i = 0; i < embedding_.count; ++i) {
      order_[static_cast<std::size_t>(next_[static_cast<std::size_t>(indices[i])]++)] = i;
    }
  }

  void sum_row(std::int64_t row) const {
    const std::int64_t columns = embedding_.columns;
    const auto first = static_cast<std::size_t>(starts_[static_cast<std::size_t>(row)]);
    const auto end = static_cast<std::size_t>(starts_[static_cast<std::size_t>(row) + 1]);
    auto* out = data<Stored>(2) + row * columns;
    if (first == end) {
      std::memset(out, 0, static_cast<std::size_t>(columns) * sizeof(Stored));
      return;
    }
    for (std::int64_t column = 0; column < columns; ++column) {
      double sum = 0.0;
      for (std::size_t i = first; i < end; ++i) {
        sum += wide<Format>(data<const Stored>(0)[order_[i] * columns + column]);
      }
      out[column] = narrow<Format>(sum);
    }
  }

  Embedding embedding_;
  std::vector<std::int64_t> starts_, next_, order_;
};

}  // namespace

std::unique_ptr<PreparedOperation> prepare_embedding(const Operation& operation, const InputTable& inputs) {
  return prepare_loops<EmbeddingLoops>(operation, inputs);
}

}  // namespace jitterscope::cpu
