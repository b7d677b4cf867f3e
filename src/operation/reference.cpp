#include "operation/reference.hpp"

#include <algorithm>

#include "base/random.hpp"
#include "operation/reference/references.hpp"

namespace jitterscope {
namespace {

using reference::Inputs;
using reference::Terms;

// A kind whose elements share nothing.
template <class Shape>
class PlainReference final : public Reference {
 public:
  PlainReference(const Shape& shape, const Inputs& inputs) : shape_(shape), inputs_(inputs) {}
  double element(std::size_t output, std::int64_t index) override {
    return reference::element(shape_, inputs_, output, index);
  }

 private:
  Shape shape_;
  const Inputs& inputs_;
};

template <class Shape>
concept KeepsSums = requires(Shape shape, Inputs inputs) {
  reference::make(shape, inputs);
};

Terms terms_of(const Operation& operation, std::size_t output) {
  return std::visit([output](const auto& shape) { return reference::terms(shape, output); },
                    operation.parameters());
}

std::int64_t output_count(const Operation& operation, std::size_t output) {
  for (const Operand& operand : operation.operands()) {
    if (operand.role == OperandRole::output && output-- == 0) return operand.count;
  }
  return 0;
}

}  // namespace

std::unique_ptr<Reference> make_reference(const Operation& operation, const Inputs& inputs) {
  return std::visit(
      [&]<class Shape>(const Shape& shape) -> std::unique_ptr<Reference> {
        if constexpr (KeepsSums<Shape>) {
          return reference::make(shape, inputs);
        } else {
          return std::make_unique<PlainReference<Shape>>(shape, inputs);
        }
      },
      operation.parameters());
}

double reference_element(const Operation& operation, const Inputs& inputs, std::int64_t index,
                         std::size_t output) {
  return make_reference(operation, inputs)->element(output, index);
}

std::int64_t terms_per_element(const Operation& operation, std::size_t output) {
  return static_cast<std::int64_t>(terms_of(operation, output).alone);
}

std::vector<std::int64_t> reference_sample(const Operation& operation, std::size_t output) {
  constexpr double kMultiplyAdds = 2e8;  // about a second on one core
  const std::int64_t total = output_count(operation, output);
  const Terms terms = terms_of(operation, output);
  std::vector<std::int64_t> elements;
  if (static_cast<double>(total) * std::max(1.0, terms.in_all) <= kMultiplyAdds) {
    for (std::int64_t i = 0; i < total; ++i) elements.push_back(i);
    return elements;
  }
  Random random(1);
  const auto affordable = static_cast<std::int64_t>(kMultiplyAdds / std::max(1.0, terms.alone));
  const std::int64_t count = std::max<std::int64_t>(affordable, 256);
  for (std::int64_t i = 0; i < count; ++i) {
    elements.push_back(static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(total))));
  }
  return elements;
}

}  // namespace jitterscope
