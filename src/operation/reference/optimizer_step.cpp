#include <cmath>

#include "operation/reference/positions.hpp"
#include "operation/reference/references.hpp"

namespace jitterscope::reference {
namespace {

constexpr double kRate = 0.01, kMomentum = 0.9, kDecay = 0.01, kAdamEpsilon = 1e-8;
constexpr double kMeanDecay = 0.9, kSquareDecay = 0.999;

double momentum_step(const Inputs& inputs, std::size_t output, std::int64_t index) {
  const double momentum = kMomentum * at(inputs[2], index) + at(inputs[1], index);
  return output == 1 ? momentum : at(inputs[0], index) - kRate * momentum;
}

double adam_step(const Inputs& inputs, bool decays, std::size_t output, std::int64_t index) {
  const double gradient = at(inputs[1], index);
  const double mean = kMeanDecay * at(inputs[2], index) + (1.0 - kMeanDecay) * gradient;
  const double square = kSquareDecay * at(inputs[3], index) + (1.0 - kSquareDecay) * gradient * gradient;
  if (output == 1) return mean;
  if (output == 2) return square;
  // The corrections of the first step.
  const double step = kRate / (1.0 - kMeanDecay);
  const double denominator = std::sqrt(square) / std::sqrt(1.0 - kSquareDecay) + kAdamEpsilon;
  const double parameter = at(inputs[0], index) * (decays ? 1.0 - kRate * kDecay : 1.0);
  return parameter - step * mean / denominator;
}

}  // namespace

double element(const OptimizerStep& step, const Inputs& inputs, std::size_t output, std::int64_t index) {
  switch (step.kind) {
    case OptimizerKind::sgd: return at(inputs[0], index) - kRate * at(inputs[1], index);
    case OptimizerKind::momentum: return momentum_step(inputs, output, index);
    case OptimizerKind::adam: return adam_step(inputs, false, output, index);
    case OptimizerKind::adamw: return adam_step(inputs, true, output, index);
  }
  return 0.0;
}

Terms terms(const OptimizerStep&, std::size_t) { return alike(10); }

}  // namespace jitterscope::reference
