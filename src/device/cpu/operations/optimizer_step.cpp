#include <cmath>

#include "device/cpu/operations/loops.hpp"
#include "device/cpu/operations/prepare.hpp"

namespace jitterscope::cpu {
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

  // The corrections are those of the first step.
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

}  // namespace jitterscope::cpu
