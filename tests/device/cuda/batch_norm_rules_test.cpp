#include "device/cuda/operations/batch_norm_rules.hpp"

#include <gtest/gtest.h>

namespace jitterscope::cuda {
namespace {

constexpr BatchNorm kUsual = {.n = 32, .c = 64, .h = 56, .w = 56};

BatchNorm with(Pass pass, std::int64_t n) { return {.n = n, .c = 8, .h = 1, .w = 1, .pass = pass}; }

TEST(BatchNormRules, GiveBf16ToPyTorchsOwnKernel) {
  BatchNorm norm = kUsual;
  for (const DataType dtype : {DataType::f64, DataType::f32, DataType::tf32, DataType::f16}) {
    norm.dtype = dtype;
    EXPECT_TRUE(is_cudnn_batch_norm(norm)) << to_string(dtype);
  }
  norm.dtype = DataType::bf16;
  EXPECT_FALSE(is_cudnn_batch_norm(norm));
}

TEST(BatchNormRules, GiveHalfWeightsToPyTorchsOwnKernel) {
  BatchNorm norm = kUsual;
  norm.dtype = DataType::f16;
  EXPECT_TRUE(is_cudnn_batch_norm(norm));
  norm.weights = DataType::f16;
  EXPECT_FALSE(is_cudnn_batch_norm(norm));
}

TEST(BatchNormRules, KnowTheLargestBatches) {
  EXPECT_TRUE(is_cudnn_batch_norm(with(Pass::forward, 880801)));
  EXPECT_FALSE(is_cudnn_batch_norm(with(Pass::forward, 880802)));
  EXPECT_FALSE(is_cudnn_batch_norm(with(Pass::backward, 880802)));
  EXPECT_TRUE(is_cudnn_batch_norm(with(Pass::inference, 65535)));
  EXPECT_FALSE(is_cudnn_batch_norm(with(Pass::inference, 65536)));
}

TEST(BatchNormRules, KnowTheLargestTensor) {
  BatchNorm norm = {.n = 1, .c = std::numeric_limits<std::int32_t>::max(), .h = 1, .w = 1};
  EXPECT_FALSE(is_cudnn_batch_norm(norm));
  norm.c -= 1;
  EXPECT_TRUE(is_cudnn_batch_norm(norm));
}

TEST(BatchNormRules, KeepThePersistentModeToTrainingInChannelsLast) {
  for (const Layout layout : {Layout::nchw, Layout::nhwc}) {
    for (const Pass pass : {Pass::forward, Pass::backward, Pass::inference}) {
      BatchNorm norm = kUsual;
      norm.layout = layout;
      norm.pass = pass;
      EXPECT_EQ(is_persistent_batch_norm(norm), layout == Layout::nhwc && pass != Pass::inference);
    }
  }
}

}  // namespace
}  // namespace jitterscope::cuda
