// What may be fused, and how each refusal reads.
#include "device/chain.hpp"

#include <gmock/gmock.h>

#include "device/can_run.hpp"
#include "jitterscope/error.hpp"

namespace jitterscope {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

Chain steps_of(const std::string& steps) {
  return std::get<Chain>(Operation::parse("chain:" + steps + ",fused=1").parameters());
}
std::string on_gpu(const std::string& steps) { return reason_not_fusible_on_gpu(steps_of(steps)); }
std::string on_cpu(const std::string& steps) { return reason_not_fusible_on_cpu(steps_of(steps)); }

constexpr const char* kConvolution = "[conv2d:n=2,c=8,hw=6,k=8,rs=3,pad=1]";

TEST(Fusion, AGpuHasAWayForEachKindOfChain) {
  const std::pair<std::string, GpuFusion> kWays[] = {
      {"[relu:count=64]*2", GpuFusion::generated_kernel},
      {"[add:count=64][gelu:count=64][mul:count=64][bias_add:n=1,c=4,hw=4]", GpuFusion::generated_kernel},
      {"[relu:count=64][max_pool:n=1,c=4,hw=4,window=2,stride=2]", GpuFusion::generated_kernel},
      {"[avg_pool:n=1,c=4,hw=4,window=2,stride=2][relu:count=16]", GpuFusion::generated_kernel},
      {"[linear:n=8,in=8,out=8][relu:count=64]", GpuFusion::product_epilogue},
      {"[matmul:m=8,n=8,k=8,dtype=f16][bias_add:n=8,c=8,hw=1,dtype=f16][gelu:count=64,dtype=f16]",
       GpuFusion::product_epilogue},
      {std::string(kConvolution) + "[bias_add:n=2,c=8,hw=6][add:count=576][silu:count=576]",
       GpuFusion::convolution_graph}};
  for (const auto& [steps, way] : kWays) {
    EXPECT_EQ(on_gpu(steps), "") << steps;
    EXPECT_EQ(gpu_fusion_of(steps_of(steps)), way) << steps;
  }
}

TEST(Fusion, WhatAGpuCannotFuseIsSaid) {
  EXPECT_THAT(on_gpu("[relu:count=64][softmax:rows=8,columns=8]"),
              HasSubstr("step 2 (softmax:rows=8,columns=8,dtype=f32) is neither pointwise"));
  EXPECT_THAT(on_gpu("[relu:count=64][linear:n=8,in=8,out=8]"), HasSubstr("step 2 (linear"));
  EXPECT_THAT(on_gpu("[relu:count=64][avg_pool:n=1,c=4,hw=4,window=1,stride=1][relu:count=64]"),
              HasSubstr("neither the first nor the last step"));
  EXPECT_THAT(on_gpu("[avg_pool:n=1,c=4,hw=4,window=1,stride=1]*2"), HasSubstr("not the only pooling"));
  EXPECT_THAT(on_gpu("[relu_backward:count=64][relu:count=64]"), HasSubstr("step 1 (relu_backward"));
  EXPECT_THAT(on_gpu("[linear:n=8,in=8,out=8][bias_add:n=8,c=8,hw=1]"), HasSubstr("a second bias"));
  EXPECT_THAT(on_gpu("[linear:n=8,in=8,out=8,bias=0][bias_add:n=2,c=4,h=2,w=4]"), HasSubstr("each column"));
  EXPECT_THAT(on_gpu("[linear:n=8,in=8,out=8][relu:count=64][relu:count=64]"),
              HasSubstr("step 3 (relu:count=64,dtype=f32) is more than"));
  EXPECT_THAT(on_gpu("[linear:n=8,in=8,out=8][silu:count=64]"), HasSubstr("step 2 (silu"));
  EXPECT_THAT(on_gpu("[linear:n=8,in=8,out=8][gelu:count=64]"), HasSubstr("approximation by tanh"));
  EXPECT_THAT(on_gpu("[linear:n=8,in=8,out=8,dtype=f64][relu:count=64,dtype=f64]"), HasSubstr("not in f64"));
  EXPECT_THAT(on_gpu("[conv2d:n=1,c=8,hw=4,k=8,rs=1,direction=dgrad][relu:count=128]"),
              HasSubstr("step 1 (conv2d"));
  EXPECT_THAT(on_gpu("[conv2d:n=1,c=8,hw=4,k=8,rs=1,engine=best][relu:count=128]"),
              HasSubstr("engine=best is a way to run conv2d alone"));
  EXPECT_THAT(on_gpu(std::string(kConvolution) + "[bias_add:n=2,c=6,h=6,w=8]"),
              HasSubstr("is not for the channels of conv2d"));
}

TEST(Fusion, WhatOnednnCannotFuseIsSaid) {
  for (const char* steps : {"[linear:n=8,in=8,out=8][silu:count=64][add:count=64]",
                            "[add:count=64][relu:count=64]", "[bias_add:n=1,c=4,hw=4][relu6:count=64]",
                            "[mul:count=64][bias_add:n=1,c=4,hw=4][bias_add:n=1,c=4,hw=4]",
                            "[avg_pool:n=1,c=4,hw=4,window=2,stride=2][tanh:count=16]",
                            "[linear:n=8,in=8,out=8][gelu:count=64]"}) {
    EXPECT_EQ(on_cpu(steps), "") << steps;
  }
  EXPECT_THAT(on_cpu("[relu:count=64]*2"),
              HasSubstr("step 1 (relu:count=64,dtype=f32) is not one of conv2d"));
  EXPECT_THAT(on_cpu("[max_pool:n=1,c=4,hw=4,window=2,stride=2][relu:count=16]"),
              HasSubstr("step 1 (max_pool"));
  EXPECT_THAT(on_cpu("[add:count=64,dtype=f16][relu:count=64,dtype=f16]"),
              HasSubstr("f32 and bf16, not f16"));
  EXPECT_THAT(on_cpu("[add:count=64][max_pool:n=1,c=4,hw=4,window=2,stride=2]"),
              HasSubstr("step 2 (max_pool"));
  EXPECT_THAT(
      on_cpu("[add:count=64][bias_add:n=1,c=4,hw=4][bias_add:n=1,c=16,hw=2]"),
      HasSubstr("step 3 (bias_add:n=1,c=16,hw=2,dtype=f32,layout=nchw) is not for the channels of bias_add"));
}

// A bias is for the last dimension where channels lie side by side.
TEST(Fusion, ABiasOfAProductIsOneOfItsColumns) {
  const Operation product(Matmul{.m = 12, .n = 4, .k = 2});
  EXPECT_TRUE(adds_to_channels_of({.n = 12, .c = 4}, product));
  EXPECT_TRUE(adds_to_channels_of({.n = 3, .c = 4, .h = 2, .w = 2, .layout = Layout::nhwc}, product));
  EXPECT_FALSE(adds_to_channels_of({.n = 3, .c = 4, .h = 2, .w = 2}, product));
  EXPECT_FALSE(adds_to_channels_of({.n = 4, .c = 12}, product));
}

TEST(Fusion, ADeviceRefusesBeforeItPrepares) {
  DeviceDescription device = open_device("virtual:h200")->describe();
  const Operation chain = Operation::parse("chain:[relu:count=64][softmax:rows=8,columns=8],fused=1");
  EXPECT_THAT([&] { check_can_run(chain, device); },
              ThrowsMessage<UsageError>(HasSubstr("virtual:h200 cannot fuse this chain: step 2 (softmax")));
  EXPECT_NO_THROW(check_can_run(Operation::parse("chain:[relu:count=64]*2,fused=1"), device));
  device.capabilities.reason_not_fusible = nullptr;
  EXPECT_THAT(
      [&] { check_can_run(Operation::parse("chain:[relu:count=64]*2,fused=1"), device); },
      ThrowsMessage<UsageError>(HasSubstr("each step as a launch of its own; change that, or leave out")));
}

}  // namespace
}  // namespace jitterscope
