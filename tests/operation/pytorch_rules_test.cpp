#include "operation/pytorch.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <string>

namespace jitterscope {
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

constexpr BatchNorm kUsualNorm = {.n = 32, .c = 64, .h = 56, .w = 56};

BatchNorm norm_of(Pass pass, std::int64_t n) { return {.n = n, .c = 8, .h = 1, .w = 1, .pass = pass}; }

TEST(BatchNormRules, GiveBf16ToPyTorchsOwnKernel) {
  BatchNorm norm = kUsualNorm;
  for (const DataType dtype : {DataType::f64, DataType::f32, DataType::tf32, DataType::f16}) {
    norm.dtype = dtype;
    EXPECT_TRUE(pytorch_uses_cudnn(norm)) << to_string(dtype);
  }
  norm.dtype = DataType::bf16;
  EXPECT_FALSE(pytorch_uses_cudnn(norm));
}

TEST(BatchNormRules, GiveHalfWeightsToPyTorchsOwnKernel) {
  BatchNorm norm = kUsualNorm;
  norm.dtype = DataType::f16;
  EXPECT_TRUE(pytorch_uses_cudnn(norm));
  norm.weights = DataType::f16;
  EXPECT_FALSE(pytorch_uses_cudnn(norm));
}

TEST(BatchNormRules, KnowTheLargestBatches) {
  EXPECT_TRUE(pytorch_uses_cudnn(norm_of(Pass::forward, 880801)));
  EXPECT_FALSE(pytorch_uses_cudnn(norm_of(Pass::forward, 880802)));
  EXPECT_FALSE(pytorch_uses_cudnn(norm_of(Pass::backward, 880802)));
  EXPECT_TRUE(pytorch_uses_cudnn(norm_of(Pass::inference, 65535)));
  EXPECT_FALSE(pytorch_uses_cudnn(norm_of(Pass::inference, 65536)));
}

TEST(BatchNormRules, KnowTheLargestTensor) {
  BatchNorm norm = {.n = 1, .c = std::numeric_limits<std::int32_t>::max(), .h = 1, .w = 1};
  EXPECT_FALSE(pytorch_uses_cudnn(norm));
  norm.c -= 1;
  EXPECT_TRUE(pytorch_uses_cudnn(norm));
}

TEST(BatchNormRules, KeepThePersistentModeToTrainingInChannelsLast) {
  for (const Layout layout : {Layout::nchw, Layout::nhwc}) {
    for (const Pass pass : {Pass::forward, Pass::backward, Pass::inference}) {
      BatchNorm norm = kUsualNorm;
      norm.layout = layout;
      norm.pass = pass;
      EXPECT_EQ(pytorch_uses_persistent_mode(norm), layout == Layout::nhwc && pass != Pass::inference);
    }
  }
}

TEST(PytorchRules, ConvolutionsOfF32RunInTf32AndNothingElse) {
  EXPECT_TRUE(pytorch_runs_in_tf32(Operation::parse("conv2d:n=8,c=64,hw=56,k=64,rs=3")));
  EXPECT_TRUE(pytorch_runs_in_tf32(Operation::parse("conv2d:n=8,c=64,hw=56,k=64,rs=3,direction=wgrad")));
  // Depthwise in NCHW: a kernel of PyTorch's own.
  EXPECT_FALSE(pytorch_runs_in_tf32(Operation::parse("conv2d:n=8,c=64,hw=56,k=64,rs=3,groups=64")));
  EXPECT_FALSE(pytorch_runs_in_tf32(Operation::parse("conv2d:n=8,c=64,hw=56,k=64,rs=3,dtype=f16")));
  EXPECT_FALSE(pytorch_runs_in_tf32(Operation::parse("conv2d:n=8,c=64,hw=56,k=64,rs=3,dtype=tf32")));
  EXPECT_FALSE(pytorch_runs_in_tf32(Operation::parse("matmul:m=64,n=64,k=64")));
  EXPECT_FALSE(pytorch_runs_in_tf32(Operation::parse("linear:n=64,in=64,out=64")));
}

}  // namespace
}  // namespace jitterscope
