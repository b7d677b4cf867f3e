#include <gmock/gmock.h>

#include <map>
#include <regex>

#include "import/import.hpp"
#include "import/log_data.hpp"
#include "operation/usage_message.hpp"

namespace jitterscope {
namespace {

using namespace jitterscope::testing;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::string_view kForwardTag = "ConvFwd_eng38_k2=1_k13=0_k14=4_k18=0_k22=2_k23=0";

Model import(std::string_view text) { return import_cudnn_frontend_log(text, "dir/fe.log"); }
const Conv2d& conv_of(const Layer& layer) { return std::get<Conv2d>(layer.operation.parameters()); }
std::string conv_linear() { return test_data("conv_linear_fe.log.gz"); }
// Its forward convolution alone.
std::string forward() { return conv_linear().substr(0, conv_linear().find("has 3 data pointers") + 20); }

std::map<Direction, int> layers_by_direction(const Model& model) {
  std::map<Direction, int> count;
  for (const Layer& layer : model.layers) ++count[conv_of(layer).direction];
  return count;
}

void expect_engines_of_direction(const Model& model) {
  const std::map<Direction, std::string> prefixes = {{Direction::fprop, "ConvFwd_eng"},
                                                     {Direction::dgrad, "ConvBwdData_eng"},
                                                     {Direction::wgrad, "ConvBwdFilter_eng"}};
  for (const Layer& layer : model.layers) {
    EXPECT_EQ(conv_of(layer).engine.rfind(prefixes.at(conv_of(layer).direction), 0), 0u)
        << layer.operation.text();
  }
}

TEST(CudnnFrontendLog, OneConvolutionInThreeDirections) {
  const Model model = import(conv_linear());
  const std::string shape = "conv2d:n=8,c=64,hw=56,k=128,rs=3,pad=1,dtype=tf32,layout=nchw,direction=";
  EXPECT_THAT(operation_texts(model),
              ElementsAre(shape + "fprop,engine=" + std::string(kForwardTag),
                          shape + "dgrad,engine=ConvBwdData_eng58_k2=4_k5=2_k14=3",
                          shape + "wgrad,engine=ConvBwdFilter_eng68_k2=1_k13=0_k18=1_k25=0_k27=1_k28=2"));
  EXPECT_EQ(model.name, "fe");
  EXPECT_EQ(model.format, "cudnn-frontend log");
  EXPECT_THAT(model.layers[0].names, ElementsAre("line 45"));
  EXPECT_EQ(model.layers[0].source, "cudnn-frontend");
  ASSERT_EQ(model.layers[0].recorded_plans.size(), 1u);
  EXPECT_EQ(model.layers[0].recorded_plans[0].workspace, Bytes(6717456));
  EXPECT_FALSE(model.layers[0].recorded_time());
  EXPECT_THAT(notes_of(model), AllOf(HasSubstr("taken as tf32"), Not(HasSubstr("more execution"))));
  expect_consistent(model);
}

TEST(CudnnFrontendLog, HeuristicResnet18) {
  const Model model = import(test_data("resnet18_cudnn_frontend_heur.log"));
  EXPECT_THAT(layers_by_direction(model),
              ElementsAre(std::pair(Direction::fprop, 11), std::pair(Direction::dgrad, 10),
                          std::pair(Direction::wgrad, 11)));
  expect_engines_of_direction(model);
  expect_consistent(model);
  EXPECT_THAT(notes_of(model), HasSubstr("86 more executions"));
  EXPECT_TRUE(model.untimed.empty());
}

TEST(CudnnFrontendLog, MobileNetInNhwcWithGroups) {
  const Model model = import(test_data("mobilenet_v2_cudnn_frontend_heur.log.gz"));
  EXPECT_THAT(layers_by_direction(model),
              ElementsAre(std::pair(Direction::fprop, 30), std::pair(Direction::dgrad, 29),
                          std::pair(Direction::wgrad, 30)));
  expect_engines_of_direction(model);
  int depthwise = 0;
  for (const Layer& layer : model.layers) {
    EXPECT_EQ(conv_of(layer).layout, Layout::nhwc) << layer.operation.text();
    depthwise += conv_of(layer).groups > 1 && conv_of(layer).groups == conv_of(layer).c;
  }
  EXPECT_EQ(depthwise, 30);
}

TEST(CudnnFrontendLog, AutotunedWinnersAreTheFastestOfTheirCandidates) {
  const std::string text = test_data("resnet18_cudnn_frontend_bench.log.gz");
  const Model model = import(text);
  ASSERT_EQ(model.layers.size(), 32u);
  std::size_t index = 0;
  std::map<double, std::string> tags_by_time;
  const std::regex pattern("Plan (\\S+) took +([0-9.e-]+)|Auto-tuning returns");
  for (auto match = std::sregex_iterator(text.begin(), text.end(), pattern); match != std::sregex_iterator();
       ++match) {
    if ((*match)[1].matched) {
      tags_by_time.try_emplace(std::stod((*match)[2]), (*match)[1]);  // the first of equal times
      continue;
    }
    const Layer& layer = model.layers.at(index++);
    EXPECT_EQ(conv_of(layer).engine, tags_by_time.begin()->second) << layer.operation.text();
    ASSERT_TRUE(layer.recorded_time());
    EXPECT_DOUBLE_EQ(layer.recorded_time()->value(), tags_by_time.begin()->first * 1e6);
    EXPECT_GE(layer.recorded_plans.size(), tags_by_time.size());
    tags_by_time.clear();
  }
  EXPECT_EQ(index, 32u);
  EXPECT_EQ(model.layers[0].recorded_plans[1].time, milliseconds(0.181568));
  EXPECT_FALSE(model.layers[0].recorded_plans.back().time);  // PyTorch times ten, and builds all
  expect_engines_of_direction(model);
  EXPECT_THAT(notes_of(model), HasSubstr("86 more executions"));
}

TEST(CudnnFrontendLog, OfEqualTimesTheFirstPlanWins) {
  const std::string plan = "[cudnn_frontend] CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR : ConvFwd_eng";
  const std::string rest = ", numeric_notes:[] behavior_notes:[] workSpaceSize: 0\n";
  const std::string pack = "[cudnn_frontend] CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR : has 3 data pointers\n";
  std::string text = forward().substr(0, forward().find("[cudnn_frontend] CUDNN_BACKEND_EXECUTION_PLAN"));
  for (const char* engine : {"0", "1", "2"}) text += plan + engine + rest;
  text += "[cudnn_frontend] Filtered plans count 3\n" + pack;
  for (const char* time : {"0 took 0.02", "1 took 1e-2", "2 took 0.01"}) {
    text += "[cudnn_frontend] Plan ConvFwd_eng" + std::string(time) + "\n";
  }
  const std::string autotuned = text + "[cudnn_frontend] Auto-tuning returns 3 plans.\n" + pack;
  const Model model = import(autotuned);
  ASSERT_EQ(model.calls.size(), 1u);
  EXPECT_EQ(conv_of(model.layers[0]).engine, "ConvFwd_eng1");
  EXPECT_EQ(model.layers[0].recorded_time(), milliseconds(0.01));
  // Two calls, one of which has a time: no sum.
  const std::string heuristic = replaced(forward(), kForwardTag, "ConvFwd_eng1");
  const Model both = import(autotuned + replaced(heuristic, "CUDNN_NUMERICAL_NOTE_TENSOR_CORE,", ""));
  ASSERT_EQ(both.layers.size(), 1u);
  EXPECT_EQ(both.layers[0].count(), 2);
  EXPECT_FALSE(both.layers[0].recorded_time());
}

TEST(CudnnFrontendLog, TheSameProblemOfTwoThreadsIsOneLayer) {
  const Model model = import(forward() + forward());
  ASSERT_EQ(model.layers.size(), 1u);
  EXPECT_THAT(model.layers[0].names, ElementsAre("line 45", "line 90"));
  expect_consistent(model);
}

TEST(CudnnFrontendLog, APlanAfterOneThatFailedToRunTakesItsPlace) {
  const std::string second =
      "\n[cudnn_frontend] CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR : ConvFwd_eng0, numeric_notes:[] "
      "behavior_notes:[] workSpaceSize: 0\n"
      "[cudnn_frontend] CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR : has 3 data pointers\n";
  const Model model = import(forward() + second);
  ASSERT_EQ(model.calls.size(), 1u);
  EXPECT_EQ(conv_of(model.layers[0]).engine, "ConvFwd_eng0");
  EXPECT_EQ(model.layers[0].recorded_plans.size(), 2u);
}

TEST(CudnnFrontendLog, WithoutTensorCoresFp32IsF32) {
  const Model model = import(replaced(forward(), "CUDNN_NUMERICAL_NOTE_TENSOR_CORE,", ""));
  EXPECT_EQ(conv_of(model.layers[0]).dtype, DataType::f32);
  EXPECT_THAT(notes_of(model), HasSubstr("taken as f32"));
}

TEST(CudnnFrontendLog, StridesOfSizeOneDimensionsTellTheLayout) {
  std::string text = forward();
  for (const auto& [from, to] :
       {std::pair("8,64,56,56", "8,64,1,1"), std::pair("200704,3136,56,1", "64,1,64,64"),
        std::pair("8,128,56,56", "8,128,1,1"), std::pair("401408,3136,56,1", "128,1,128,128"),
        std::pair("128,64,3,3", "128,64,1,1"), std::pair("576,9,3,1", "64,1,64,64"),
        std::pair("[ 1,1 ]", "[ 0,0 ]"), std::pair("PadUpper [,1,1 ]", "PadUpper [,0,0 ]")}) {
    text = replaced(text, from, to);
  }
  EXPECT_EQ(conv_of(import(text).layers[0]).layout, Layout::nhwc);
  for (const auto& [from, to] : {std::pair("64,1,64,64", "64,1,1,1"), std::pair("128,1,128,128", "128,1,1,1"),
                                 std::pair("64,1,64,64", "64,1,1,1")}) {
    text = replaced(text, from, to);
  }
  EXPECT_EQ(conv_of(import(text).layers[0]).layout, Layout::nchw);
}

TEST(CudnnFrontendLog, WhatIsNoConv2dIsUntimedWithItsReason) {
  const auto reason = [](std::string_view from, std::string_view to) {
    const Model model = import(replaced(forward(), from, to) + "\n" + forward());
    EXPECT_EQ(model.calls.size(), 1u) << to;
    return model.untimed.empty() ? std::string("none")
                                 : model.untimed[0].name + ": " + model.untimed[0].reason;
  };
  EXPECT_THAT(reason("Tag: ConvFwd_", "Tag: ConvFwd_Add_Add_ReluFwd_"),
              AllOf(HasSubstr("ConvFwd_Add_Add_ReluFwd: "), HasSubstr("fused")));
  EXPECT_THAT(reason("200704,3136,56,1", "200704,3136,112,1"), HasSubstr("neither nchw nor nhwc"));
  EXPECT_THAT(reason("PadUpper [,1,1 ]", "PadUpper [,1,2 ]"), HasSubstr("unequally"));
  EXPECT_THAT(reason("[\"CROSS_CORRELATION\"]", "[\"CONVOLUTION\"]"), HasSubstr("flips"));
  EXPECT_THAT(reason("[\"FLOAT\"]", "[\"HALF\"]"), HasSubstr("HALF and FLOAT"));
  EXPECT_THAT(reason("8,128,56,56", "8,128,55,56"), HasSubstr("8x128x55x56"));
  EXPECT_THAT(reason("128,64,3,3", "128,63,3,3"), HasSubstr("63"));
  EXPECT_THAT(reason("8,64,56,56", "0,64,56,56"), HasSubstr("n=0"));
}

}  // namespace
}  // namespace jitterscope
