#include <cmath>
#include <optional>

#include "operation/reference/positions.hpp"
#include "operation/reference/references.hpp"

namespace jitterscope::reference {
namespace {

constexpr double kBatchNormEpsilon = 1e-5;

// The gradients follow from mean and deviation as they are given, whether or not they are those of x, so
// that operands drawn at random have one right answer.
class BatchNormReference final : public Reference {
 public:
  BatchNormReference(const BatchNorm& norm, const Inputs& inputs)
      : norm_(norm),
        inputs_(inputs),
        shape_{norm.c, norm.h, norm.w, norm.layout},
        channels_(static_cast<std::size_t>(norm.c)) {}

  double element(std::size_t output, std::int64_t index) override {
    const std::int64_t channel = output == 0 ? shape_.position(index).channel : index;
    switch (norm_.pass) {
      case Pass::forward: return forward(output, index, channel);
      case Pass::backward: return backward(output, index, channel);
      case Pass::inference: return inference(index, channel);
    }
    return 0.0;
  }

 private:
  // Forward: mean and deviation. Backward: the sum of dy, and that of dy times the normalized x.
  struct Pair {
    double first = 0, second = 0;
  };

  double count() const {
    return static_cast<double>(norm_.n) * static_cast<double>(norm_.h) * static_cast<double>(norm_.w);
  }

  template <class Function>
  double sum(std::int64_t channel, const Function& term) const {
    double total = 0.0;
    for (std::int64_t n = 0; n < norm_.n; ++n) {
      for (std::int64_t row = 0; row < norm_.h; ++row) {
        for (std::int64_t column = 0; column < norm_.w; ++column) {
          total += term(shape_.index({n, channel, row, column}));
        }
      }
    }
    return total;
  }

  template <class Function>
  const Pair& kept(std::int64_t channel, const Function& compute) {
    std::optional<Pair>& pair = channels_[static_cast<std::size_t>(channel)];
    if (!pair) pair = compute();
    return *pair;
  }

  double forward(std::size_t output, std::int64_t index, std::int64_t channel) {
    const auto& x = inputs_[0];
    const auto [mean, deviation] = kept(channel, [&] {
      const double average = sum(channel, [&](std::int64_t i) { return at(x, i); }) / count();
      const double variance =
          sum(channel, [&](std::int64_t i) { return (at(x, i) - average) * (at(x, i) - average); }) / count();
      return Pair{average, 1.0 / std::sqrt(variance + kBatchNormEpsilon)};
    });
    if (output == 1) return mean;
    if (output == 2) return deviation;
    return (at(x, index) - mean) * deviation * at(inputs_[1], channel) + at(inputs_[2], channel);
  }

  double normalized(std::int64_t index, std::int64_t channel) const {
    return (at(inputs_[0], index) - at(inputs_[3], channel)) * at(inputs_[4], channel);
  }

  double backward(std::size_t output, std::int64_t index, std::int64_t channel) {
    const auto& dy = inputs_[1];
    const auto [dbias, dweight] = kept(channel, [&] {
      return Pair{sum(channel, [&](std::int64_t i) { return at(dy, i); }),
                  sum(channel, [&](std::int64_t i) { return at(dy, i) * normalized(i, channel); })};
    });
    if (output == 1) return dweight;
    if (output == 2) return dbias;
    const double rest = at(dy, index) - (dbias + normalized(index, channel) * dweight) / count();
    return at(inputs_[2], channel) * at(inputs_[4], channel) * rest;
  }

  double inference(std::int64_t index, std::int64_t channel) const {
    const double deviation = 1.0 / std::sqrt(at(inputs_[4], channel) + kBatchNormEpsilon);
    return (at(inputs_[0], index) - at(inputs_[3], channel)) * deviation * at(inputs_[1], channel) +
           at(inputs_[2], channel);
  }

  BatchNorm norm_;
  const Inputs& inputs_;
  Shape shape_;
  std::vector<std::optional<Pair>> channels_;
};

}  // namespace

std::unique_ptr<Reference> make(const BatchNorm& norm, const Inputs& inputs) {
  return std::make_unique<BatchNormReference>(norm, inputs);
}

Terms terms(const BatchNorm& norm, std::size_t output) {
  if (norm.pass == Pass::inference) return {};
  const double channel =
      2.0 * static_cast<double>(norm.n) * static_cast<double>(norm.h) * static_cast<double>(norm.w);
  return {channel, output == 0 ? 3.0 : channel};
}

}  // namespace jitterscope::reference
