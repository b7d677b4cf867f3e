#include <gmock/gmock.h>

#include "import/imported.hpp"
#include "jitterscope/error.hpp"
#include "model/named_models.hpp"

namespace jitterscope {
namespace {

using namespace testing;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

const std::set<std::string> kProductKinds = {"conv2d", "linear", "matmul"};
const std::string kTraces = std::string(JITTERSCOPE_TEST_DATA) + "/..";

// The networks by name are built from their architecture, by other code than reads the trace.
TEST(ExecutionTrace, GivesTheConvolutionsAndProductsOfTheNetworksByName) {
  for (const auto& [name, batch] : {std::pair<std::string, int>{"resnet18", 16}, {"resnet50", 32}}) {
    const Model imported = execution_trace(kTraces + "/" + name + "_et.json.gz");
    ModelOptions options;
    options.batch = batch;
    EXPECT_EQ(counts(imported, kProductKinds), counts(*named_model(name, options), kProductKinds)) << name;
    EXPECT_EQ(imported.name, name);
  }
}

TEST(ExecutionTrace, HasEveryConvolutionInThreeDirectionsButTheFirstInputGradient) {
  const Model model = execution_trace(kTraces + "/resnet18_et.json.gz");
  EXPECT_EQ(total(counts(model, {"conv2d"})), 20 * 3 - 1);
  EXPECT_EQ(total(counts(model, {"batch_norm"})), 20 * 2);
  EXPECT_EQ(model.format, "PyTorch execution trace");
  EXPECT_THAT(model.untimed, IsEmpty());
}

TEST(ExecutionTrace, SaysThatItDoesNotKnowOfTf32) {
  EXPECT_THAT(execution_trace(kTraces + "/resnet18_et.json.gz").notes,
              Contains(HasSubstr("whether products of f32 ran in TF32")));
  EXPECT_THAT(profiler_trace(data_file("resnet18_trace.json.gz")).notes, Not(Contains(HasSubstr("TF32"))));
  EXPECT_THAT(execution_trace(data_file("bert_et.json.gz")).notes, Not(Contains(HasSubstr("TF32"))));
}

TEST(ExecutionTrace, CallsRunInOrderAndReadWhatEarlierCallsWrote) {
  const Model model = execution_trace(kTraces + "/resnet18_et.json.gz");
  const auto call = [&](std::string_view name) {
    const auto same = [&](const Call& candidate) { return candidate.name == name; };
    return static_cast<std::size_t>(std::find_if(model.calls.begin(), model.calls.end(), same) -
                                    model.calls.begin());
  };
  // conv1, its normalization, relu in place, pooling, the next convolution.
  const std::size_t convolution = call("aten::cudnn_convolution#12"),
                    norm = call("aten::cudnn_batch_norm#30");
  const std::size_t relu = call("aten::clamp_min_#47"), pool = call("aten::max_pool2d_with_indices#49");
  const std::size_t next = call("aten::cudnn_convolution#59");
  ASSERT_LT(next, model.calls.size());
  EXPECT_TRUE(convolution < norm && norm < relu && relu < pool && pool < next);
  const auto source = [&](std::size_t reader) {
    return model.calls[reader].inputs.empty() ? model.calls.size() : model.calls[reader].inputs.front().call;
  };
  EXPECT_THAT(model.calls[convolution].inputs, IsEmpty());
  EXPECT_EQ(source(norm), convolution);
  EXPECT_EQ(source(relu), norm);
  EXPECT_EQ(source(next), pool);
  // What works in place writes into the memory of the first call that had it, where later calls read.
  constexpr std::size_t kY = 3;  // of a normalization
  ASSERT_EQ(model.calls[relu].inputs.size(), 2u);
  for (const std::size_t operand : {0u, 1u}) {
    const OperandSource& place = model.calls[relu].inputs[operand];
    EXPECT_EQ(place.operand, operand);
    EXPECT_EQ(place.call, norm);
    EXPECT_EQ(place.source_operand, kY);
  }
  EXPECT_EQ(source(pool), norm);
}

TEST(ExecutionTrace, DataGradientsReadTheWeightsOfTheirForwardPass) {
  const Model model = execution_trace(kTraces + "/resnet18_et.json.gz");
  const auto direction = [&](std::size_t call) {
    const auto* conv = std::get_if<Conv2d>(&model.layers[model.calls[call].layer].operation.parameters());
    return conv == nullptr ? std::optional<Direction>() : conv->direction;
  };
  int gradients = 0;
  for (std::size_t i = 0; i < model.calls.size(); ++i) {
    if (direction(i) != Direction::dgrad) continue;
    ++gradients;
    const auto& inputs = model.calls[i].inputs;
    EXPECT_TRUE(std::ranges::any_of(inputs, [&](const OperandSource& source) {
      return source.operand == 1 && source.source_operand == 1 && direction(source.call) == Direction::fprop;
    })) << model.calls[i].name;
  }
  EXPECT_EQ(gradients, 19);
}

TEST(ExecutionTrace, EveryCallIsOneNameOfItsLayerAndEveryLayerKnowsItsOperator) {
  for (const std::string name : {"bert", "mobilenet_v2"}) {
    const Model model = execution_trace(data_file(name + "_et.json.gz"));
    std::size_t names = 0;
    for (const Layer& layer : model.layers) {
      names += layer.names.size();
      EXPECT_THAT(layer.source, HasSubstr("aten::"));
      EXPECT_TRUE(layer.operation.kind() == "aten" || layer.aten) << layer.operation.text();
    }
    EXPECT_EQ(names, model.calls.size());
    for (const Call& call : model.calls) EXPECT_THAT(model.layers.at(call.layer).names, Contains(call.name));
  }
}

TEST(ExecutionTrace, KnowsDepthwiseConvolutionsInChannelsLast) {
  const Model model = execution_trace(data_file("mobilenet_v2_et.json.gz"));
  EXPECT_EQ(total(counts(model, {"conv2d"})), 52 * 3 - 1);
  const std::string depthwise =
      "conv2d:n=32,c=384,hw=14,k=384,rs=3,pad=1,groups=384,dtype=tf32,layout=nhwc,direction=";
  for (const std::string direction : {"fprop", "dgrad", "wgrad"}) {
    EXPECT_NE(find_layer(model, depthwise + direction), nullptr) << direction;
  }
  EXPECT_EQ(total(counts(model, {"relu6"})), 35);
  EXPECT_EQ(total(counts(model, {"relu6_backward"})), 34) << "one gradient lies in another order";
}

TEST(ExecutionTrace, KnowsTransformersInBf16) {
  const Model model = execution_trace(data_file("bert_et.json.gz"));
  EXPECT_EQ(total(counts(model, {"linear"})), 13);
  EXPECT_EQ(total(counts(model, {"attention"})), 4);
  EXPECT_EQ(total(counts(model, {"layer_norm"})), 10);
  EXPECT_EQ(total(counts(model, {"embedding"})), 6);
  const Layer* linear = find_layer(model, "linear:n=1024,in=768,out=3072,dtype=bf16");
  ASSERT_NE(linear, nullptr);
  EXPECT_EQ(linear->count(), 2);
  EXPECT_NE(
      find_layer(model, "attention:batch=8,heads=12,queries=128,keys=128,dim=64,layout=bshd,dtype=bf16"),
      nullptr);
  EXPECT_THAT(model.notes, Contains(HasSubstr("drops out")));
}

}  // namespace
}  // namespace jitterscope
