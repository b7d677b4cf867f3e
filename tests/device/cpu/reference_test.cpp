#include "device/cpu/reference.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>

#include "device/cpu/brute_force.hpp"
#include "operation/random_operation.hpp"
#include "operation/usage_message.hpp"
#include "support/reference_output.hpp"

namespace jitterscope {
namespace {

using Tensor = std::vector<double>;

Tensor reference(const Operation& operation, const std::vector<Tensor>& inputs) {
  return reference_output(operation, inputs);
}

std::vector<Tensor> normal_inputs(const Operation& operation, testing::RandomOperation& random) {
  std::vector<Tensor> inputs;
  for (const Operand& operand : operation.operands()) {
    if (operand.role == OperandRole::output) continue;
    Tensor& tensor = inputs.emplace_back(static_cast<std::size_t>(operand.count));
    for (double& value : tensor) value = random.normal();
  }
  return inputs;
}

void expect_tensors_near(const Tensor& actual, const Tensor& expected, const std::string& what) {
  ASSERT_EQ(actual.size(), expected.size()) << what;
  // Only the order of summation differs; thousands of terms of order one.
  for (std::size_t i = 0; i < actual.size(); ++i)
    ASSERT_NEAR(actual[i], expected[i], 1e-9) << what << " at " << i;
}

TEST(Reference, ConvolutionsAgreeWithTheScatterForm) {
  testing::RandomOperation random(11);
  for (int i = 0; i < 400; ++i) {
    Conv2d conv = random.conv2d(4);
    const Operation operation(conv);
    const std::vector<Tensor> inputs = normal_inputs(operation, random);
    expect_tensors_near(reference(operation, inputs), testing::scattered(conv, inputs), operation.text());
  }
}

TEST(Reference, MatrixProductsAgreeWithOuterProducts) {
  testing::RandomOperation random(13);
  for (int i = 0; i < 200; ++i) {
    const Matmul matmul = random.matmul(7);
    const Operation operation(matmul);
    const std::vector<Tensor> inputs = normal_inputs(operation, random);
    expect_tensors_near(reference(operation, inputs), testing::outer_products(matmul, inputs),
                        operation.text());
  }
}

TEST(Reference, ConvolutionByHand) {
  // 1 2 3          3x3 input, 2x2 filter of   1 0   : each output is the element less the one
  // 4 5 6                                     0 -1    to its lower right, here always -4.
  // 7 8 9
  const Tensor x = {1, 2, 3, 4, 5, 6, 7, 8, 9}, w = {1, 0, 0, -1};
  EXPECT_EQ(reference(Operation::parse("conv2d:n=1,c=1,hw=3,k=1,rs=2"), {x, w}), (Tensor{-4, -4, -4, -4}));
  // No flip: frameworks correlate.
  EXPECT_EQ(reference(Operation::parse("conv2d:n=1,c=1,hw=3,k=1,rs=2,stride=2,pad=1"), {x, w}),
            (Tensor{-1, -3, -7, -4}));
  // A unit dy in the corner puts the filter there.
  EXPECT_EQ(reference(Operation::parse("conv2d:n=1,c=1,hw=3,k=1,rs=2,direction=dgrad"), {{0, 1, 0, 0}, w}),
            (Tensor{0, 1, 0, 0, 0, -1, 0, 0, 0}));
  // A unit dy picks the window of x below it.
  EXPECT_EQ(reference(Operation::parse("conv2d:n=1,c=1,hw=3,k=1,rs=2,direction=wgrad"), {x, {0, 0, 1, 0}}),
            (Tensor{4, 5, 7, 8}));
}

TEST(Reference, ChannelsLastIsReadAndWrittenInItsOrder) {
  // One pixel wide, two channels, two rows: nchw is a0 a1 b0 b1, nhwc is a0 b0 a1 b1. Weight k,r,s,c: 1 10.
  EXPECT_EQ(
      reference(Operation::parse("conv2d:n=1,c=2,h=2,w=1,k=1,rs=1,layout=nhwc"), {{1, 2, 3, 4}, {1, 10}}),
      (Tensor{21, 43}));
  EXPECT_EQ(reference(Operation::parse("conv2d:n=1,c=2,h=2,w=1,k=1,rs=1"), {{1, 2, 3, 4}, {1, 10}}),
            (Tensor{31, 42}));
}

TEST(Reference, MatmulAndLinearByHand) {
  const Tensor a = {1, 2, 3, 4, 5, 6}, b = {1, 0, 0, 1, 1, 1};
  EXPECT_EQ(reference(Operation::parse("matmul:m=2,n=2,k=3"), {a, b}), (Tensor{4, 5, 10, 11}));
  EXPECT_EQ(reference(Operation::parse("matmul:m=2,n=2,k=3,bias=1"), {a, b, {100, 200}}),
            (Tensor{104, 205, 110, 211}));
  EXPECT_EQ(
      reference(Operation::parse("matmul:m=3,n=3,k=2,ta=1,tb=1"), {{1, 2, 3, 4, 5, 6}, {1, 0, 0, 1, 1, 1}}),
      (Tensor{1, 4, 5, 2, 5, 7, 3, 6, 9}));
  // y = x W^T + bias with W of out x in.
  EXPECT_EQ(
      reference(Operation::parse("linear:n=1,in=3,out=2"), {{1, 2, 3}, {1, 0, 0, 0, 1, 1}, {0.5, 0.25}}),
      (Tensor{1.5, 5.25}));
  EXPECT_EQ(reference(Operation::parse("linear:n=1,in=3,out=2,bias=0"), {{1, 2, 3}, {1, 0, 0, 0, 1, 1}}),
            (Tensor{1, 5}));
}

TEST(Reference, MemoryOperations) {
  EXPECT_EQ(reference(Operation::parse("copy:bytes=12"), {{3, 1, 2}}), (Tensor{3, 1, 2}));
  EXPECT_EQ(reference(Operation::parse("fill:count=2"), {}), (Tensor{1, 1}));
  EXPECT_EQ(reference(Operation::parse("add:count=2"), {{1, 2}, {10, -2}}), (Tensor{11, 0}));
  EXPECT_EQ(reference(Operation::parse("relu:count=3"), {{-1, 0, 2}}), (Tensor{0, 0, 2}));
  EXPECT_TRUE(std::isnan(reference(Operation::parse("relu:count=1"), {{std::nan("")}})[0]));
  EXPECT_THAT(testing::usage_message([] { Reference(Operation::parse("spin:ns=1"), {}); }),
              ::testing::HasSubstr("spin has no output"));
}

// Who computes them is looked up once for many elements, and each time for one; steps that only pass on move
// them.
TEST(Reference, ElementsOfAChainAreTheSameTogetherAsAlone) {
  testing::RandomOperation random(5);
  for (const char* text : {"chain:[relu:count=64]*2,lanes=3",
                           "chain:[convert:n=1,c=4,hw=6,to=nhwc][max_pool:n=1,c=4,hw=6,window=2,layout=nhwc]"
                           "[copy:bytes=144][convert:n=1,c=4,hw=3,from=nhwc,to=nchw],lanes=2"}) {
    const Operation chain = Operation::parse(text);
    Reference together(chain, normal_inputs(chain, random));
    const auto outputs =
        static_cast<std::size_t>(std::ranges::count(chain.operands(), OperandRole::output, &Operand::role));
    for (std::size_t output = 0; output < outputs; ++output) {
      std::size_t looked_at = 0;
      together.for_each_sampled(output, [&](std::int64_t index, double value) {
        EXPECT_EQ(value, together.element(output, index)) << text << " " << output << " at " << index;
        ++looked_at;
      });
      EXPECT_EQ(looked_at, reference_sample(chain, output).size());
    }
  }
}

TEST(Reference, TermsPerElementIsTheCost) {
  const std::string conv = "conv2d:n=2,c=6,hw=8,k=4,r=3,s=2,groups=2";
  EXPECT_EQ(terms_per_element(Operation::parse(conv)), 3 * 3 * 2);
  EXPECT_EQ(terms_per_element(Operation::parse(conv + ",direction=dgrad")), 2 * 3 * 2);
  EXPECT_EQ(terms_per_element(Operation::parse(conv + ",direction=wgrad")), 2 * 6 * 7);
  EXPECT_EQ(terms_per_element(Operation::parse("matmul:m=2,n=3,k=5,batch=7")), 5);
  EXPECT_EQ(terms_per_element(Operation::parse("linear:n=2,in=3,out=5")), 3);
  EXPECT_EQ(terms_per_element(Operation::parse("add:count=9")), 1);
}

}  // namespace
}  // namespace jitterscope
