#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "device/cpu/cpu_device.hpp"

namespace jitterscope {
namespace {

std::vector<double> run(PreparedOperation& prepared, std::size_t output) {
  prepared.run(nullptr);
  return prepared.read_operand(output);
}

double unit_roundoff(DataType dtype) {
  switch (dtype) {
    case DataType::f64: return 0.0;
    case DataType::f32: return 0x1p-24;
    case DataType::f16: return 0x1p-11;
    default: return 0x1p-8;
  }
}

class ElementwiseTest : public ::testing::TestWithParam<DataType> {
 protected:
  // Many enough for several threads, and no multiple of a vector.
  static constexpr std::int64_t kCount = 100'003;

  std::unique_ptr<PreparedOperation> prepare(ElementwiseKind kind) {
    return device_->prepare(Operation(Elementwise{.kind = kind, .count = kCount, .dtype = GetParam()}), {});
  }
  std::unique_ptr<Device> device_ = open_cpu_device();
};

TEST_P(ElementwiseTest, FillWritesOnes) {
  const auto prepared = prepare(ElementwiseKind::fill);
  EXPECT_EQ(run(*prepared, 0), std::vector<double>(kCount, 1.0));
}

TEST_P(ElementwiseTest, AddIsTheRoundedSum) {
  const auto prepared = prepare(ElementwiseKind::add);
  const std::vector<double> sum = run(*prepared, 2), a = prepared->read_operand(0),
                            b = prepared->read_operand(1);
  for (std::size_t i = 0; i < sum.size(); ++i) {
    // Sums that nearly cancel leave the range of normal numbers of f16, below 2^-14.
    const double error = unit_roundoff(GetParam()) * std::max(std::abs(a[i] + b[i]), 0x1p-14);
    ASSERT_NEAR(sum[i], a[i] + b[i], error) << i;
  }
}

TEST_P(ElementwiseTest, ReluKeepsWhatIsPositive) {
  const auto prepared = prepare(ElementwiseKind::relu);
  const std::vector<double> y = run(*prepared, 1), x = prepared->read_operand(0);
  for (std::size_t i = 0; i < y.size(); ++i) ASSERT_EQ(y[i], std::max(x[i], 0.0)) << i;
}

INSTANTIATE_TEST_SUITE_P(Types, ElementwiseTest,
                         ::testing::Values(DataType::f64, DataType::f32, DataType::f16, DataType::bf16),
                         [](const auto& tested) { return std::string(to_string(tested.param)); });

TEST(CpuCopy, CopiesEveryByte) {
  const auto device = open_cpu_device();
  const auto prepared = device->prepare(Operation(Copy{.bytes = (3 << 20) + 20}), {});
  EXPECT_EQ(run(*prepared, 1), prepared->read_operand(0));
}

TEST(CpuInputs, EachKindHasItsDistribution) {
  const auto device = open_cpu_device();
  const auto values = [&](DataKind kind, std::uint64_t seed) {
    return device
        ->prepare(Operation(Elementwise{.kind = ElementwiseKind::relu, .count = 300'000}), {kind, seed})
        ->read_operand(0);
  };
  const auto moment = [](const std::vector<double>& numbers, int power) {
    double sum = 0.0;
    for (const double number : numbers) sum += std::pow(number, power);
    return sum / static_cast<double>(numbers.size());
  };
  EXPECT_EQ(values(DataKind::zeros, 1), std::vector<double>(300'000, 0.0));
  EXPECT_EQ(values(DataKind::ones, 1), std::vector<double>(300'000, 1.0));
  const std::vector<double> normal = values(DataKind::normal, 1), uniform = values(DataKind::uniform, 1);
  EXPECT_NEAR(moment(normal, 1), 0.0, 0.01);
  EXPECT_NEAR(moment(normal, 2), 1.0, 0.02);
  EXPECT_NEAR(moment(normal, 4), 3.0, 0.15);
  EXPECT_NEAR(moment(uniform, 2), 1.0 / 3.0, 0.01);
  const std::vector<double> sparse = values(DataKind::sparse, 1);
  EXPECT_NEAR(static_cast<double>(std::count(sparse.begin(), sparse.end(), 0.0)), 150'000, 2'000);
  EXPECT_NEAR(moment(sparse, 2), 0.5, 0.02);
  EXPECT_EQ(values(DataKind::normal, 1), normal) << "the same seed gives the same values";
  EXPECT_NE(values(DataKind::normal, 2), normal);
  EXPECT_GT(std::set<double>(normal.begin(), normal.end()).size(), 200'000u) << "hardly a value is repeated";
}

TEST(CpuInputs, OperandsOfOneOperationDiffer) {
  const auto device = open_cpu_device();
  const auto prepared = device->prepare(Operation(Elementwise{.count = 1000}), {});
  EXPECT_NE(prepared->read_operand(0), prepared->read_operand(1));
}

TEST(CpuInputs, ProducingThemKeepsTheirValues) {
  const auto device = open_cpu_device();
  const auto prepared = device->prepare(Operation(Elementwise{.count = 100'003}), {});
  const std::vector<double> before = prepared->read_operand(1);
  EXPECT_TRUE(prepared->produce_inputs(nullptr));
  EXPECT_EQ(prepared->read_operand(1), before);
}

}  // namespace
}  // namespace jitterscope
