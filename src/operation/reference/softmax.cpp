#include <algorithm>
#include <cmath>
#include <optional>

#include "operation/reference/positions.hpp"
#include "operation/reference/references.hpp"

namespace jitterscope::reference {
namespace {

// The gradient follows from y as it is given, whether or not its rows are a softmax.
class SoftmaxReference final : public Reference {
 public:
  SoftmaxReference(const Softmax& softmax, const Inputs& inputs)
      : softmax_(softmax), inputs_(inputs), rows_(static_cast<std::size_t>(softmax.rows)) {}

  double element(std::size_t, std::int64_t index) override {
    const double of_row = kept(index / softmax_.columns);
    if (softmax_.pass != Pass::backward) {
      const double logarithm = at(inputs_[0], index) - of_row;
      return softmax_.logarithm ? logarithm : std::exp(logarithm);
    }
    const double dy = at(inputs_[0], index), y = at(inputs_[1], index);
    return softmax_.logarithm ? dy - std::exp(y) * of_row : y * (dy - of_row);
  }

 private:
  // Forward: the logarithm of the sum of exponentials. Backward: the sum of dy, or of dy times y.
  double kept(std::int64_t row) {
    std::optional<double>& value = rows_[static_cast<std::size_t>(row)];
    if (!value) value = softmax_.pass == Pass::backward ? gradient_sum(row) : log_sum(row);
    return *value;
  }

  double log_sum(std::int64_t row) const {
    const auto first = inputs_[0].begin() + row * softmax_.columns;
    const double largest = *std::max_element(first, first + softmax_.columns);
    double total = 0.0;
    for (auto x = first; x != first + softmax_.columns; ++x) total += std::exp(*x - largest);
    return largest + std::log(total);
  }

  double gradient_sum(std::int64_t row) const {
    double total = 0.0;
    for (std::int64_t i = row * softmax_.columns; i < (row + 1) * softmax_.columns; ++i) {
      total += at(inputs_[0], i) * (softmax_.logarithm ? 1.0 : at(inputs_[1], i));
    }
    return total;
  }

  Softmax softmax_;
  const Inputs& inputs_;
  std::vector<std::optional<double>> rows_;
};

}  // namespace

std::unique_ptr<Reference> make(const Softmax& softmax, const Inputs& inputs) {
  return std::make_unique<SoftmaxReference>(softmax, inputs);
}

// An exponential takes as long as some ten multiply-adds.
Terms terms(const Softmax& softmax, std::size_t) {
  return {10.0 * static_cast<double>(softmax.columns), 20.0};
}

}  // namespace jitterscope::reference
