#include "model/network.hpp"

#include <gmock/gmock.h>

#include "model/calls.hpp"
#include "operation/usage_message.hpp"

namespace jitterscope {
namespace {

using ::testing::AllOf;
using testing::call_named;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::operation;
using ::testing::SizeIs;
using testing::usage_message;

std::vector<std::string> names(const Model& model) {
  std::vector<std::string> result;
  for (const Call& call : model.calls) result.push_back(call.name);
  return result;
}

Conv2d convolution(std::int64_t c, std::int64_t k) { return {.n = 2, .c = c, .h = 4, .w = 4, .k = k}; }
Elementwise relu(std::int64_t count) { return {ElementwiseKind::relu, count}; }
ModelOptions only(Direction direction) {
  ModelOptions options;
  options.direction = direction;
  return options;
}

TEST(Network, BackwardGoesInReverseAndAddsGradientsThatMeet) {
  Network network("n", "");
  const Tensor x = network.add("first", convolution(3, 8), {network.input(96, DataType::f32)});
  const Tensor left = network.add("left", convolution(8, 8), {x});
  const Tensor right = network.add("right", convolution(8, 8), {x});
  network.loss("loss", network.add("sum", Elementwise{ElementwiseKind::add, 256}, {left, right}), "");
  const Model model = network.to_model({});
  EXPECT_THAT(names(model), ElementsAre("first.fprop", "left.fprop", "right.fprop", "sum.forward",
                                        "right.dgrad", "right.wgrad", "left.dgrad", "left.wgrad",
                                        "left.accumulate.backward", "first.wgrad"));
}

TEST(Network, AGradientIsAddedAsSoonAsItsNodeIsDone) {
  Network network("n", "");
  const Tensor x = network.add("first", convolution(3, 8), {network.input(96, DataType::f32)});
  network.loss("loss", network.add("twice", Elementwise{ElementwiseKind::add, 256}, {x, x}), "");
  EXPECT_THAT(names(network.to_model({})),
              ElementsAre("first.fprop", "twice.forward", "twice.accumulate.backward", "first.wgrad"));
}

TEST(Network, CallsSayWhichEarlierOneWroteOrReadTheirInputs) {
  Network network("n", "");
  const Tensor x = network.add("conv", convolution(3, 8), {network.input(96, DataType::f32)});
  network.loss("loss", network.add("relu", relu(256), {x}), "");
  const Model model = network.to_model({});
  ASSERT_THAT(names(model), ElementsAre("conv.fprop", "relu.forward", "relu.backward", "conv.wgrad"));
  EXPECT_THAT(model.calls[0].inputs, IsEmpty());
  ASSERT_THAT(model.calls[1].inputs, SizeIs(1));
  EXPECT_EQ(model.calls[1].inputs[0].call, 0u);
  EXPECT_EQ(model.calls[1].inputs[0].source_operand, 2u);  // x, w -> y
  ASSERT_THAT(model.calls[3].inputs, SizeIs(2));
  const OperandSource &x_of_network = model.calls[3].inputs[0], &dy = model.calls[3].inputs[1];
  EXPECT_EQ(operation(model, model.calls[3]).operands()[x_of_network.operand].name, "x");
  EXPECT_EQ(x_of_network.call, 0u);
  EXPECT_EQ(x_of_network.source_operand, 0u);
  EXPECT_EQ(operation(model, model.calls[3]).operands()[dy.operand].name, "dy");
  EXPECT_EQ(dy.call, 2u);
}

TEST(Network, BothPassesReadOneWeight) {
  Network network("n", "");
  const Tensor x = network.add("first", convolution(3, 8), {network.input(96, DataType::f32)});
  network.loss("loss", network.add("second", convolution(8, 8), {x}), "");
  const Model model = network.to_model({});
  const auto weight_source =
      [&](const std::string& name) -> std::optional<std::pair<std::size_t, std::size_t>> {
    const Call& call = call_named(model, name);
    for (const OperandSource& source : call.inputs) {
      if (operation(model, call).operands()[source.operand].name == "w")
        return std::pair(source.call, source.source_operand);
    }
    return std::nullopt;
  };
  ASSERT_EQ(model.calls[1].name, "second.fprop");
  EXPECT_EQ(weight_source("second.fprop"), std::nullopt);
  EXPECT_EQ(weight_source("second.dgrad"), std::pair(std::size_t{1}, std::size_t{1}));  // x, w, y
}

TEST(Network, PartsOfATensorLieOneBehindTheOther) {
  Network network("n", "");
  const Tensor x = network.add("whole", relu(96), {network.input(96, DataType::f32)});
  const std::vector<Tensor> parts = network.split("split", x, {32, 64});
  network.add("first", relu(32), {parts[0]});
  network.add("second", relu(64), {parts[1]});
  const Model model = network.to_model(only(Direction::fprop));
  ASSERT_THAT(model.calls[1].inputs, SizeIs(1));
  EXPECT_EQ(model.calls[1].inputs[0].offset, Bytes(0));
  ASSERT_THAT(model.calls[2].inputs, SizeIs(1));
  EXPECT_EQ(model.calls[2].inputs[0].call, 0u);
  EXPECT_EQ(model.calls[2].inputs[0].offset, Bytes(32 * 4));
}

TEST(Network, WhatAnUntimedOperatorWritesIsUnwritten) {
  Network network("n", "");
  const Tensor x = network.add("first", relu(96), {network.input(96, DataType::f32)});
  const Tensor copied = network.add_untimed("copy", {"aten::clone", "", "it copies"}, {x}, 96);
  const std::vector<Tensor> parts = network.split("split", copied, {48, 48});
  network.add("sum", Elementwise{ElementwiseKind::add, 48}, {parts[0], parts[1]});
  const Model model = network.to_model(only(Direction::fprop));
  EXPECT_EQ(model.calls[0].unwritten, 0) << "a network's data and weights are given";
  EXPECT_EQ(model.calls[1].unwritten, 2);
}

TEST(Network, WhatOnlyAnotherPassComputesIsUnwritten) {
  Network network("n", "");
  const Tensor x = network.add("first", convolution(3, 8), {network.input(96, DataType::f32)});
  network.loss("loss", network.add("second", convolution(8, 8), {x}), "");
  const Model all = network.to_model({});
  ASSERT_THAT(names(all),
              ElementsAre("first.fprop", "second.fprop", "second.dgrad", "second.wgrad", "first.wgrad"));
  EXPECT_EQ(all.calls[1].unwritten, 0);
  EXPECT_EQ(all.calls[2].unwritten, 1) << "the loss is not timed";
  EXPECT_EQ(all.calls[4].unwritten, 0);
  const Model weights = network.to_model(only(Direction::wgrad));
  EXPECT_EQ(weights.calls[0].unwritten, 2);
}

TEST(Network, ATensorThatACallReadsTwiceIsNoEarlierCalls) {
  Network network("n", "");
  const Tensor x = network.input(96, DataType::f32);
  network.add("twice", Elementwise{ElementwiseKind::add, 96}, {x, x});
  EXPECT_THAT(network.to_model({}).calls.at(0).inputs, IsEmpty());
}

TEST(Network, NoOperationIsListedTwiceAndNoNameUsedTwice) {
  Network network("n", "");
  Tensor x = network.input(256, DataType::f32);
  for (int i = 0; i < 3; ++i) x = network.add("relu", relu(256), {x});
  const Model model = network.to_model({});
  ASSERT_THAT(model.layers, SizeIs(1));
  EXPECT_THAT(model.layers[0].names, ElementsAre("relu.forward", "relu.forward_2", "relu.forward_3"));
}

TEST(Network, AWeightThatIsUsedTwiceHasOneGradient) {
  Network network("n", "");
  const Tensor table = network.parameter(40, DataType::f32);
  const Tensor x = network.add("table", Embedding{3, 10, 4}, {network.input(3, DataType::i64), table});
  Matmul head{3, 10, 4};
  head.transpose_b = true;
  network.loss("loss", network.add("head", head, {x, table}), "");
  EXPECT_THAT(names(network.to_model({})),
              ElementsAre("table.forward", "head.fprop", "head.wgrad", "head.dgrad", "table.backward",
                          "table.accumulate.backward"));
}

TEST(Network, TheDirectionPicksCalls) {
  Network network("n", "");
  const Tensor x = network.add("conv", convolution(3, 8), {network.input(96, DataType::f32)});
  const Tensor y = network.add("relu", relu(256), {x});
  network.loss("loss", network.add("last", convolution(8, 8), {y}), "");
  const auto part = [&](Direction direction) { return names(network.to_model(only(direction))); };
  EXPECT_THAT(part(Direction::fprop), ElementsAre("conv.fprop", "relu.forward", "last.fprop"));
  EXPECT_THAT(part(Direction::dgrad), ElementsAre("last.dgrad", "relu.backward"));
  EXPECT_THAT(part(Direction::wgrad), ElementsAre("last.wgrad", "conv.wgrad"));
}

TEST(Network, WhatIsNotTimedIsCounted) {
  Network network("n", "");
  Tensor x = network.add("fc", Linear{2, 3, 4}, {network.input(6, DataType::f32)});
  const Network::UntimedStep copy{"aten::cat", "aten::slice_backward", "copies"};
  x = network.add_untimed("cat", copy, {x, x}, 16);
  network.loss("aten::nll_loss", x, "none");
  std::vector<std::string> untimed;
  const Model model = network.to_model({});
  for (const UntimedOperator& entry : model.untimed) {
    untimed.push_back(entry.name);
    EXPECT_EQ(entry.count, 1) << entry.name;
    EXPECT_NE(entry.reason, "");
  }
  EXPECT_THAT(untimed, ElementsAre("aten::cat", "aten::slice_backward", "aten::nll_loss_forward",
                                   "aten::nll_loss_backward", "aten::sum"));
  EXPECT_THAT(names(model), ElementsAre("fc.fprop", "cat.accumulate.backward", "fc.wgrad"));
}

TEST(Network, AnImpossibleShapeNamesTheCall) {
  Network network("n", "");
  const auto add = [&] { network.add("conv1", convolution(0, 8), {network.input(1, DataType::f32)}); };
  EXPECT_THAT(usage_message(add), AllOf(HasSubstr("conv1:"), HasSubstr("c=0")));
}

}  // namespace
}  // namespace jitterscope
