#include <algorithm>
#include <cmath>
#include <numbers>

#include "jitterscope/error.hpp"
#include "operation/reference/positions.hpp"
#include "operation/reference/references.hpp"

namespace jitterscope::reference {
namespace {

double sigmoid(double x) { return 1.0 / (1.0 + std::exp(-x)); }
double normal_cdf(double x) { return 0.5 * std::erfc(-x / std::numbers::sqrt2); }
double normal_pdf(double x) { return std::exp(-0.5 * x * x) / std::sqrt(2.0 * std::numbers::pi); }

// Written so that a NaN stays one.
double clamped(double x, double highest) { return x < 0.0 ? 0.0 : x > highest ? highest : x; }

double silu_slope(double x) { return sigmoid(x) * (1.0 + x * (1.0 - sigmoid(x))); }
double gelu_slope(double x) { return normal_cdf(x) + x * normal_pdf(x); }

double forward(ElementwiseKind kind, double x) {
  switch (kind) {
    case ElementwiseKind::relu: return clamped(x, HUGE_VAL);
    case ElementwiseKind::relu6: return clamped(x, 6.0);
    case ElementwiseKind::sigmoid: return sigmoid(x);
    case ElementwiseKind::tanh: return std::tanh(x);
    case ElementwiseKind::silu: return x * sigmoid(x);
    case ElementwiseKind::gelu: return x * normal_cdf(x);
    default: return 1.0;
  }
}

// `kept` is y or x, as the operands say.
double backward(ElementwiseKind kind, double dy, double kept) {
  switch (kind) {
    case ElementwiseKind::relu_backward: return kept <= 0.0 ? 0.0 : dy;
    case ElementwiseKind::relu6_backward: return kept <= 0.0 || kept >= 6.0 ? 0.0 : dy;
    case ElementwiseKind::sigmoid_backward: return dy * kept * (1.0 - kept);
    case ElementwiseKind::tanh_backward: return dy * (1.0 - kept * kept);
    case ElementwiseKind::silu_backward: return dy * silu_slope(kept);
    default: return dy * gelu_slope(kept);
  }
}

}  // namespace

double element(const Elementwise& elementwise, const Inputs& inputs, std::size_t, std::int64_t index) {
  const auto input = [&](std::size_t operand) { return at(inputs[operand], index); };
  switch (elementwise.kind) {
    case ElementwiseKind::fill: return 1.0;
    case ElementwiseKind::add: return input(0) + input(1);
    case ElementwiseKind::mul: return input(0) * input(1);
    default: break;
  }
  if (elementwise.kind < ElementwiseKind::relu_backward) return forward(elementwise.kind, input(0));
  return backward(elementwise.kind, input(0), input(1));
}

double element(const BiasAdd& bias, const Inputs& inputs, std::size_t, std::int64_t index) {
  const Shape shape{bias.c, bias.h, bias.w, bias.layout};
  return at(inputs[0], index) + at(inputs[1], shape.position(index).channel);
}

double element(const Copy&, const Inputs& inputs, std::size_t, std::int64_t index) {
  return at(inputs[0], index);
}

double element(const Spin&, const Inputs&, std::size_t, std::int64_t) {
  throw UsageError("spin has no output to verify; leave out --verify");
}

Terms terms(const Elementwise&, std::size_t) { return {}; }
Terms terms(const BiasAdd&, std::size_t) { return {}; }
Terms terms(const Copy&, std::size_t) { return {}; }
Terms terms(const Spin&, std::size_t) { return alike(0); }

}  // namespace jitterscope::reference
