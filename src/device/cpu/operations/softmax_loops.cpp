#include <algorithm>
#include <cmath>

#include "device/cpu/operations/loops.hpp"
#include "device/cpu/operations/prepare.hpp"

namespace jitterscope::cpu {
namespace {

template <class Format>
class SoftmaxLoops final : public CpuOperation {
 public:
  SoftmaxLoops(const Operation& operation, const InputTable& inputs)
      : CpuOperation(operation, inputs), softmax_(std::get<Softmax>(operation.parameters())) {}

  void run(NativeQueue) override {
    const bool backward = softmax_.pass == Pass::backward;
#pragma omp parallel for schedule(static) if (softmax_.rows * softmax_.columns > kParallel)
    for (std::int64_t row = 0; row < softmax_.rows; ++row) {
      const std::int64_t first = row * softmax_.columns;
      backward ? gradient(first, first + softmax_.columns) : forward(first, first + softmax_.columns);
    }
  }

 private:
  using Stored = typename Format::Stored;

  double value(std::size_t operand, std::int64_t i) const {
    return wide<Format>(data<const Stored>(operand)[i]);
  }

  void forward(std::int64_t first, std::int64_t end) const {
    double largest = value(0, first), sum = 0.0;
    for (std::int64_t i = first; i < end; ++i) largest = std::max(largest, value(0, i));
    for (std::int64_t i = first; i < end; ++i) sum += std::exp(value(0, i) - largest);
    const double logarithm = largest + std::log(sum);
    for (std::int64_t i = first; i < end; ++i) {
      const double result = value(0, i) - logarithm;
      data<Stored>(1)[i] = narrow<Format>(softmax_.logarithm ? result : std::exp(result));
    }
  }

  void gradient(std::int64_t first, std::int64_t end) const {
    double sum = 0.0;
    for (std::int64_t i = first; i < end; ++i) sum += value(0, i) * (softmax_.logarithm ? 1.0 : value(1, i));
    for (std::int64_t i = first; i < end; ++i) {
      const double dy = value(0, i), y = value(1, i);
      data<Stored>(2)[i] = narrow<Format>(softmax_.logarithm ? dy - std::exp(y) * sum : y * (dy - sum));
    }
  }

  Softmax softmax_;
};

}  // namespace

std::unique_ptr<PreparedOperation> prepare_softmax_loops(const Operation& operation,
                                                         const InputTable& inputs) {
  return prepare_loops<SoftmaxLoops>(operation, inputs);
}

}  // namespace jitterscope::cpu
