#include <fmt/format.h>

#include <cmath>

#include "cuda_test.hpp"

namespace jitterscope {
namespace {

struct Moments {
  double mean = 0, variance = 0, minimum = 0, maximum = 0, share_of_zeros = 0;
};

Moments moments_of(const std::vector<double>& values) {
  Moments moments;
  const auto count = static_cast<double>(values.size());
  for (const double value : values) {
    moments.mean += value / count;
    moments.share_of_zeros += (value == 0.0 ? 1.0 : 0.0) / count;
  }
  for (const double value : values)
    moments.variance += (value - moments.mean) * (value - moments.mean) / count;
  moments.minimum = *std::min_element(values.begin(), values.end());
  moments.maximum = *std::max_element(values.begin(), values.end());
  return moments;
}

class CudaData : public CudaTest, public testing::WithParamInterface<DataType> {
 protected:
  void SetUp() override {
    CudaTest::SetUp();
    if (!IsSkipped() && !has(GetParam())) GTEST_SKIP() << "the GPU has no " << to_string(GetParam());
  }
  std::vector<double> inputs(DataKind kind, std::uint64_t seed = 1, std::size_t operand = 0) {
    auto add = prepare(fmt::format("add:count=1048576,dtype={}", to_string(GetParam())), {kind, seed});
    return add->read_operand(operand);
  }
};

// Five standard errors: 1/1024 for the mean of a million standard normals, 1.4/1024 for their variance.
TEST_P(CudaData, NormalHasMeanZeroAndVarianceOne) {
  const Moments moments = moments_of(inputs(DataKind::normal));
  EXPECT_NEAR(moments.mean, 0.0, 5.0 / 1024);
  EXPECT_NEAR(moments.variance, 1.0, 7.0 / 1024);
  EXPECT_GT(moments.maximum, 4.0);
  EXPECT_LT(moments.minimum, -4.0);
}

TEST_P(CudaData, UniformFillsItsInterval) {
  const Moments moments = moments_of(inputs(DataKind::uniform));
  EXPECT_NEAR(moments.mean, 0.0, 3.0 / 1024);
  EXPECT_NEAR(moments.variance, 1.0 / 3, 2.0 / 1024);
  EXPECT_GE(moments.minimum, -1.0);
  EXPECT_LE(moments.maximum, 1.0);
  EXPECT_GT(moments.maximum, 0.99);
}

TEST_P(CudaData, ZerosAndOnesAreThat) {
  EXPECT_EQ(inputs(DataKind::zeros), std::vector<double>(1048576, 0.0));
  EXPECT_EQ(inputs(DataKind::ones), std::vector<double>(1048576, 1.0));
}

TEST_P(CudaData, SparseIsHalfZeros) {
  const Moments moments = moments_of(inputs(DataKind::sparse));
  EXPECT_NEAR(moments.share_of_zeros, 0.5, 2.5 / 1024);
  EXPECT_NEAR(moments.variance, 0.5, 7.0 / 1024);
}

TEST_P(CudaData, SeedsAndOperandsDiffer) {
  EXPECT_EQ(inputs(DataKind::normal, 1), inputs(DataKind::normal, 1));
  EXPECT_NE(inputs(DataKind::normal, 1), inputs(DataKind::normal, 2));
  EXPECT_NE(inputs(DataKind::normal, 1, 0), inputs(DataKind::normal, 1, 1));
}

// Of 2 MiB each: an operand of several is put together of them, and stays what it was when it is moved.
TEST_P(CudaData, PiecesOfTheHeapHoldTheSame) {
  const std::string text = fmt::format("relu:count=8388613,dtype={}", to_string(GetParam()));
  const auto whole = device().prepare(Operation::parse(text), {.seed = 3, .placement = 3});
  if (!whole->lies_in_pages()) GTEST_SKIP() << "this driver maps no memory";
  for (const std::int64_t pages : {16, 4, 1}) {
    const auto pieces =
        device().prepare(Operation::parse(text), {.seed = 3, .placement = 3, .heap_piece = pages});
    EXPECT_EQ(pieces->read_operand(0), whole->read_operand(0)) << pages;
    EXPECT_TRUE(pieces->place_anew());
    EXPECT_EQ(pieces->read_operand(0), whole->read_operand(0)) << pages;
  }
}

INSTANTIATE_TEST_SUITE_P(All, CudaData,
                         testing::Values(DataType::f64, DataType::f32, DataType::f16, DataType::bf16),
                         [](const auto& tested) { return std::string(to_string(tested.param)); });

}  // namespace
}  // namespace jitterscope
