#include "model/network.hpp"

#include <gtest/gtest.h>

#include <map>
#include <numeric>

#include "base/random.hpp"
#include "model/calls.hpp"
#include "support/reference_output.hpp"

namespace jitterscope {
namespace {

using testing::call_named;
using testing::operation;
using Numbers = std::vector<double>;

// Of a function that is linear in each of its two inputs, dy·f(a, b) is a·da and b·db: computed with the
// reference of each call, so that a wrong transpose or direction shows.
class Gradients : public ::testing::Test {
 protected:
  void expect_adjoint(const Operation::Parameters& forward) {
    const Model model = network_of(forward);
    const Operation shape(forward);
    const std::vector<Operand> operands = shape.operands();
    const Numbers a = random(operands[0].count), b = random(operands[1].count),
                  dy = random(operands[2].count);
    values_ = {{0, a}, {1, b}};
    const double expected = dot(dy, computed(shape, {a, b}));
    for (const auto& [name, primal] : {std::pair{"f.dgrad", a}, {"f.wgrad", b}}) {
      const Call& call = call_named(model, name);
      EXPECT_NEAR(dot(primal, computed(operation(model, call), inputs_of(model, call, dy))), expected, 1e-9)
          << shape.text() << " " << operation(model, call).text();
    }
  }

  static Model network_of(const Operation::Parameters& forward) {
    Network network("n", "");
    std::vector<Tensor> inputs;
    const std::vector<Operand> operands = Operation(forward).operands();
    for (int i : {0, 1}) {
      const std::int64_t count = operands[static_cast<std::size_t>(i)].count;
      inputs.push_back(network.add("copy" + std::to_string(i), Copy{4 * count, CopyKind::d2d},
                                   {network.parameter(count, DataType::f32)}));
    }
    network.loss("loss", network.add("f", forward, inputs), "");
    return network.to_model({});
  }

 private:
  Numbers random(std::int64_t count) {
    Numbers numbers(static_cast<std::size_t>(count));
    for (double& number : numbers) number = generator_.normal();
    return numbers;
  }
  static double dot(const Numbers& a, const Numbers& b) {
    EXPECT_EQ(a.size(), b.size());
    return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
  }
  static Numbers computed(const Operation& operation, const std::vector<Numbers>& inputs) {
    return reference_output(operation, inputs);
  }
  // What neither copy wrote is the gradient that backward begins with.
  std::vector<Numbers> inputs_of(const Model& model, const Call& call, const Numbers& dy) {
    std::vector<Numbers> inputs(operation(model, call).operands().size() - 1, dy);
    for (const OperandSource& source : call.inputs) {
      if (values_.contains(source.call)) inputs[source.operand] = values_.at(source.call);
    }
    return inputs;
  }

  std::map<std::size_t, Numbers> values_;
  Random generator_{7};
};

TEST_F(Gradients, OfProductsFitTheirTransposes) {
  for (const bool ta : {false, true}) {
    for (const bool tb : {false, true}) expect_adjoint(Matmul{3, 4, 5, 1, ta, tb});
  }
  expect_adjoint(Matmul{3, 4, 5, 2, false, false});
}

// PyTorch: grad.bmm(mat2.transpose(1, 2)) and self.transpose(1, 2).bmm(grad), however the factors are stored.
TEST_F(Gradients, OfBatchedProductsGoByTheirSizes) {
  const auto gradient = [](bool ta, bool tb, const std::string& name) {
    const Model model = network_of(Matmul{3, 4, 5, 2, ta, tb});
    return std::get<Matmul>(operation(model, call_named(model, name)).parameters());
  };
  for (const bool ta : {false, true}) {
    for (const bool tb : {false, true}) {
      EXPECT_EQ(gradient(ta, tb, "f.dgrad"), (Matmul{3, 5, 4, 2, false, !tb}));
      EXPECT_EQ(gradient(ta, tb, "f.wgrad"), (Matmul{5, 4, 3, 2, !ta, false}));
    }
  }
}

TEST_F(Gradients, OfConvolutionsAndTransposedOnes) {
  Conv2d conv{.n = 2, .c = 4, .h = 7, .w = 6, .k = 6, .r = 3, .s = 2};
  conv.stride_h = 2;
  conv.pad_w = 1;
  conv.groups = 2;
  expect_adjoint(conv);
  conv.direction = Direction::dgrad;
  expect_adjoint(conv);
}

}  // namespace
}  // namespace jitterscope
