#include "pytorch/comparison.hpp"

#include <gmock/gmock.h>

#include "commands/verify_pytorch/record.hpp"

namespace jitterscope {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

constexpr const char* kConvolution =
    "conv2d:n=8,c=64,hw=56,k=128,rs=3,pad=1,dtype=tf32,layout=nchw,direction=fprop";

PytorchRecording recording() {
  PytorchRecording recording;
  Layer convolution{{"a", "b"}, Operation::parse(kConvolution)};
  convolution.recorded_times = {microseconds(90), microseconds(110)};
  convolution.recorded_kernels = {"Memset (Device)", "_ZN5cudnn6kernelIfLi2EEEvPKf"};
  Layer relu{{"c"}, Operation::parse("relu:count=1024")};
  relu.source = "aten::relu";
  relu.recorded_times = {microseconds(5)};
  recording.trace.layers = {convolution, relu};
  recording.plans.layers = {
      {{"line 1"}, Operation::parse(std::string(kConvolution) + ",engine=ConvFwd_eng38_k2=1")}};
  return recording;
}

Result here(const std::string& engine, const std::vector<std::string>& kernels) {
  Result result;
  result.provider = "cudnn";
  result.algorithm = engine;
  for (const std::string& name : kernels) {
    result.kernels.push_back({name, microseconds(50), microseconds(49), microseconds(51)});
  }
  return result;
}

TEST(PytorchComparison, LibraryCallsAreComparedAndTheRestIsNamed) {
  const auto references = reference_layers(recording());
  ASSERT_THAT(references, SizeIs(1));
  EXPECT_EQ(references[0].engine, "ConvFwd_eng38_k2=1");
  EXPECT_EQ(references[0].count, 2);
  EXPECT_EQ(*references[0].time, microseconds(100));
  const auto others = other_operators(recording());
  ASSERT_THAT(others, SizeIs(1));
  EXPECT_EQ(others[0].name, "aten::relu");
}

TEST(PytorchComparison, OnlyCudnnsAttentionIsALibrarys) {
  PytorchRecording recording;
  const Operation attention = Operation::parse("attention:batch=8,heads=12,queries=128,dim=64,layout=bshd");
  for (const char* source : {"aten::_scaled_dot_product_cudnn_attention", "aten::_flash_attention_forward"}) {
    recording.trace.layers.push_back({{"a"}, attention, source});
  }
  const auto references = reference_layers(recording);
  ASSERT_THAT(references, SizeIs(1));
  const auto others = other_operators(recording);
  ASSERT_THAT(others, SizeIs(1));
  EXPECT_EQ(others[0].name, "aten::_flash_attention_forward");
}

TEST(PytorchComparison, WhatNoOperationDescribesIsNotCalledPytorchsOwn) {
  PytorchRecording recording;
  recording.trace.layers = {
      {{"a"}, Operation::parse("aten::_scaled_dot_product_cudnn_attention(f16[1,2,3,4])"), "aten::x"},
      {{"b"}, Operation::parse("aten::relu(f16[8])"), "aten::relu"},
      {{"c"}, Operation::parse("aten::baddbmm.out(f16[2,3,4],f16[2,3,5],f16[2,5,4])"), "aten::baddbmm"}};
  const auto others = other_operators(recording);
  ASSERT_THAT(others, SizeIs(3));
  EXPECT_THAT(others[0].reason, HasSubstr("cuDNN runs it"));
  EXPECT_THAT(others[1].reason, HasSubstr("its own kernel"));
  EXPECT_THAT(others[2].reason, HasSubstr("cuBLAS runs it"));
}

TEST(PytorchComparison, EqualEnginesAndKernelsInAnyOrder) {
  const ComparedLayer layer =
      compare_layer(reference_layers(recording())[0],
                    here("ConvFwd_eng38_k2=1", {"void cudnn::kernel<float, 2>(float const*)", "memset"}));
  EXPECT_EQ(layer.engine, Verdict::equal);
  EXPECT_EQ(layer.kernels, Verdict::equal);
  EXPECT_DOUBLE_EQ(*layer.time_ratio, 1.0);
}

TEST(PytorchComparison, AnotherEngineOrKernelDiffers) {
  const ReferenceLayer reference = reference_layers(recording())[0];
  const ComparedLayer layer = compare_layer(reference, here("ConvFwd_eng0", {"memset"}));
  EXPECT_EQ(layer.engine, Verdict::differs);
  EXPECT_EQ(layer.kernels, Verdict::differs);
  PytorchComparison comparison;
  comparison.layers = {layer};
  EXPECT_FALSE(comparison.is_equal());
  // The same kernel twice is not the same as once.
  const std::string kernel = "void cudnn::kernel<float, 2>(float const*)";
  EXPECT_EQ(compare_layer(reference, here("", {"memset", kernel, kernel})).kernels, Verdict::differs);
}

TEST(PytorchComparison, WhatIsNotKnownIsNoDifference) {
  ReferenceLayer reference = reference_layers(recording())[0];
  reference.engine.clear();
  reference.kernels.clear();
  const ComparedLayer layer = compare_layer(reference, here("ConvFwd_eng0", {"memset"}));
  EXPECT_EQ(layer.engine, Verdict::unknown);
  EXPECT_EQ(layer.kernels, Verdict::unknown);
  // Nor does a device without engines run another one.
  EXPECT_EQ(compare_layer(reference_layers(recording())[0], here("", {})).engine, Verdict::unknown);
}

TEST(PytorchComparison, NothingIsEqualWhereNothingIsKnown) {
  ReferenceLayer reference = reference_layers(recording())[0];
  reference.engine.clear();
  reference.kernels.clear();
  PytorchComparison comparison;
  comparison.layers = {compare_layer(reference, here("ConvFwd_eng38_k2=1", {"memset"}))};
  EXPECT_FALSE(comparison.is_equal());
  EXPECT_THAT(comparison.nothing_compared(), HasSubstr("recording has no kernels and no engines"));
  comparison.layers = {compare_layer(reference_layers(recording())[0], here("", {}))};
  EXPECT_FALSE(comparison.is_equal());
  EXPECT_THAT(comparison.nothing_compared(), HasSubstr("seen here"));
}

TEST(PytorchComparison, ALayerThatFailedIsNeitherEqualNorDifferent) {
  PytorchComparison comparison;
  comparison.layers = {
      compare_layer(reference_layers(recording())[0],
                    here("ConvFwd_eng38_k2=1", {"void cudnn::kernel<float, 2>(float const*)", "memset"}))};
  EXPECT_TRUE(comparison.is_equal());
  EXPECT_EQ(comparison.nothing_compared(), "");
  EXPECT_FALSE(comparison.has_failure());
  Result failed;
  failed.failure = "out of memory";
  comparison.layers.push_back(compare_layer(reference_layers(recording())[0], failed));
  EXPECT_EQ(comparison.layers[1].engine, Verdict::unknown);
  EXPECT_TRUE(comparison.has_failure());
  EXPECT_FALSE(comparison.is_equal());
}

TEST(PytorchTable, DifferencesAreSpeltOut) {
  PytorchRecord record;
  record.device.name = "NVIDIA H200";
  record.comparison.model = "tiny";
  record.comparison.layers = {
      compare_layer(reference_layers(recording())[0], here("ConvFwd_eng0", {"memset"}))};
  record.comparison.not_compared = other_operators(recording());
  record.comparison.recorded_gpu_time = microseconds(205);
  const std::string text = pytorch_table(record);
  EXPECT_THAT(text, HasSubstr("engine: PyTorch ConvFwd_eng38_k2=1, here ConvFwd_eng0"));
  EXPECT_THAT(text, HasSubstr("Equal engines: 0 of 1. Equal kernels: 0 of 1."));
  EXPECT_THAT(text, HasSubstr("PyTorch has its own kernel for it: aten::relu ×1 (2.4 %)"));
  Result failed;
  failed.failure = "out of memory";
  record.comparison.layers.push_back(compare_layer(reference_layers(recording())[0], failed));
  EXPECT_THAT(pytorch_table(record), HasSubstr("Equal engines: 0 of 1, 1 unknown. Equal kernels: 0 of 1, 1"));
  EXPECT_THAT(text, HasSubstr("Not timed: 5.00 µs of the 205 µs of GPU time recorded (2.4 %)"));
}

}  // namespace
}  // namespace jitterscope
