#include "device/cuda/operations/pytorch_rules.hpp"

#include <gtest/gtest.h>

#include <string>

namespace jitterscope::cuda {
namespace {

bool by_cudnn(const std::string& parameters) {
  const Operation operation = Operation::parse("conv2d:" + parameters);
  return pytorch_uses_cudnn(std::get<Conv2d>(operation.parameters()));
}

TEST(PytorchRules, OrdinaryAndGroupedConvolutionsAreCudnns) {
  EXPECT_TRUE(by_cudnn("n=8,c=64,hw=56,k=64,rs=3"));
  EXPECT_TRUE(by_cudnn("n=8,c=64,hw=56,k=64,rs=3,groups=32"));
  EXPECT_TRUE(by_cudnn("n=8,c=1,hw=56,k=64,rs=3,groups=1"));
}

TEST(PytorchRules, DepthwiseInNchwIsCudnnsInF16Only) {
  EXPECT_FALSE(by_cudnn("n=8,c=64,hw=56,k=64,rs=3,groups=64,dtype=tf32"));
  EXPECT_FALSE(by_cudnn("n=8,c=64,hw=56,k=64,rs=3,groups=64,dtype=bf16"));
  EXPECT_TRUE(by_cudnn("n=8,c=64,hw=56,k=64,rs=3,groups=64,dtype=f16"));
  EXPECT_TRUE(by_cudnn("n=8,c=64,hw=56,k=128,rs=3,groups=64,dtype=f16"));
  EXPECT_TRUE(by_cudnn("n=8,c=64,hw=56,k=64,rs=3,groups=64,dtype=tf32,layout=nhwc"));
}

TEST(PytorchRules, DepthwiseInF16NeedsAShapeThatWasMeasured) {
  const std::string depthwise = ",dtype=f16,groups=";
  EXPECT_FALSE(by_cudnn("n=8,c=16,hw=56,k=16,rs=3" + depthwise + "16"));             // under 32 channels
  EXPECT_FALSE(by_cudnn("n=8,c=64,hw=56,k=64,rs=7" + depthwise + "64"));             // a filter of 7
  EXPECT_FALSE(by_cudnn("n=8,c=64,hw=56,k=64,rs=3,dilation=2" + depthwise + "64"));  // dilated
  EXPECT_FALSE(by_cudnn("n=8,c=64,hw=6,k=64,rs=3" + depthwise + "64"));              // narrower than 7
  EXPECT_FALSE(by_cudnn("n=8,c=64,hw=56,k=64,rs=3,stride=2" + depthwise + "64"));
  EXPECT_TRUE(by_cudnn("n=8,c=512,hw=14,k=512,rs=3,stride=2" + depthwise + "512"));
  EXPECT_TRUE(by_cudnn("n=8,c=256,hw=28,k=256,rs=5,stride=2" + depthwise + "256"));
  EXPECT_FALSE(by_cudnn("n=8,c=256,hw=14,k=256,rs=5,stride=2" + depthwise + "256"));
  EXPECT_TRUE(by_cudnn("n=1,c=64,hw=56,k=64,rs=3,stride=2" + depthwise + "64"));
  EXPECT_TRUE(by_cudnn("n=8,c=64,h=1,w=9,k=64,r=1,s=9" + depthwise + "64"));  // 1-D
}

TEST(PytorchRules, TheBiasGoesIntoTheEpilogueUnlessBHasASizeOfOne) {
  const auto fused = [](const std::string& parameters) {
    return pytorch_uses_bias_epilogue(
        std::get<Matmul>(Operation::parse("matmul:" + parameters).parameters()));
  };
  EXPECT_TRUE(fused("m=64,n=32,k=16,bias=1"));
  EXPECT_FALSE(fused("m=64,n=32,k=16"));
  EXPECT_TRUE(fused("m=1,n=32,k=16,bias=1"));
  EXPECT_FALSE(fused("m=64,n=1,k=16,bias=1"));
  EXPECT_FALSE(fused("m=64,n=32,k=1,bias=1"));
}

}  // namespace
}  // namespace jitterscope::cuda
