#include <cmath>
#include <optional>

#include "operation/reference/positions.hpp"
#include "operation/reference/references.hpp"

namespace jitterscope::reference {
namespace {

constexpr double kEpsilon = 1e-5;

// As of batch normalization: the gradients follow from mean and deviation as they are given.
class LayerNormReference final : public Reference {
 public:
  LayerNormReference(const LayerNorm& norm, const Inputs& inputs)
      : norm_(norm), inputs_(inputs), rows_(static_cast<std::size_t>(norm.rows)) {}

  double element(std::size_t output, std::int64_t index) override {
    if (norm_.pass != Pass::backward) return forward(output, index);
    return output == 0 ? data_gradient(index) : parameter_gradient(output, index);
  }

 private:
  // Forward: mean and deviation. Backward: the averages of dy times the weight, and of that times the
  // normalized x.
  struct Pair {
    double first = 0, second = 0;
  };

  template <class Function>
  double average(std::int64_t row, const Function& term) const {
    double total = 0.0;
    for (std::int64_t column = 0; column < norm_.columns; ++column) {
      total += term(row * norm_.columns + column);
    }
    return total / static_cast<double>(norm_.columns);
  }

  template <class Function>
  const Pair& kept(std::int64_t row, const Function& compute) {
    std::optional<Pair>& pair = rows_[static_cast<std::size_t>(row)];
    if (!pair) pair = compute();
    return *pair;
  }

  double forward(std::size_t output, std::int64_t index) {
    const auto& x = inputs_[0];
    const std::int64_t row = output == 0 ? index / norm_.columns : index;
    const auto [mean, deviation] = kept(row, [&] {
      const double middle = average(row, [&](std::int64_t i) { return at(x, i); });
      const double variance =
          average(row, [&](std::int64_t i) { return (at(x, i) - middle) * (at(x, i) - middle); });
      return Pair{middle, 1.0 / std::sqrt(variance + kEpsilon)};
    });
    if (output == 1) return mean;
    if (output == 2) return deviation;
    const std::int64_t column = index % norm_.columns;
    return (at(x, index) - mean) * deviation * at(inputs_[1], column) + at(inputs_[2], column);
  }

  double normalized(std::int64_t index) const {
    const std::int64_t row = index / norm_.columns;
    return (at(inputs_[1], index) - at(inputs_[2], row)) * at(inputs_[3], row);
  }
  double weighted(std::int64_t index) const {
    return at(inputs_[0], index) * at(inputs_[4], index % norm_.columns);
  }

  double data_gradient(std::int64_t index) {
    const std::int64_t row = index / norm_.columns;
    const auto [plain, along] = kept(row, [&] {
      return Pair{average(row, [&](std::int64_t i) { return weighted(i); }),
                  average(row, [&](std::int64_t i) { return weighted(i) * normalized(i); })};
    });
    return at(inputs_[3], row) * (weighted(index) - plain - normalized(index) * along);
  }

  double parameter_gradient(std::size_t output, std::int64_t column) const {
    double total = 0.0;
    for (std::int64_t row = 0; row < norm_.rows; ++row) {
      const std::int64_t index = row * norm_.columns + column;
      total += at(inputs_[0], index) * (output == 1 ? normalized(index) : 1.0);
    }
    return total;
  }

  LayerNorm norm_;
  const Inputs& inputs_;
  std::vector<std::optional<Pair>> rows_;
};

}  // namespace

std::unique_ptr<Reference> make(const LayerNorm& norm, const Inputs& inputs) {
  return std::make_unique<LayerNormReference>(norm, inputs);
}

Terms terms(const LayerNorm& norm, std::size_t output) {
  const double row = 2.0 * static_cast<double>(norm.columns);
  if (output == 0) return {row, 4.0};
  const double alone = norm.pass == Pass::backward ? static_cast<double>(norm.rows) : row;
  return {alone, alone};
}

}  // namespace jitterscope::reference
