#include <fmt/format.h>

#include <cmath>

#include "cuda_test.hpp"

namespace jitterscope {
namespace {

// Half a unit in the last place, relative; the sum is rounded to f32 before it is rounded to 16 bits.
double rounding(DataType dtype) {
  switch (dtype) {
    case DataType::i64:
    case DataType::i32:
    case DataType::f64: return 0;
    case DataType::f32:
    case DataType::tf32: return 0x1p-24;
    case DataType::f16: return 0x1p-11 + 0x1p-24;
    case DataType::bf16: return 0x1p-8 + 0x1p-24;
  }
  return 0;
}

struct ElementwiseCase {
  DataType dtype;
  std::int64_t count;
};

class CudaElementwise : public CudaTest, public testing::WithParamInterface<ElementwiseCase> {
 protected:
  void SetUp() override {
    CudaTest::SetUp();
    if (!IsSkipped() && !has(GetParam().dtype))
      GTEST_SKIP() << "the GPU has no " << to_string(GetParam().dtype);
  }
  std::unique_ptr<PreparedOperation> prepare_kind(std::string_view kind) {
    return prepare(fmt::format("{}:count={},dtype={}", kind, GetParam().count, to_string(GetParam().dtype)));
  }
};

TEST_P(CudaElementwise, FillWritesOnes) {
  auto fill = prepare_kind("fill");
  EXPECT_EQ(run_and_read(*fill), std::vector<double>(static_cast<std::size_t>(GetParam().count), 1.0));
}

TEST_P(CudaElementwise, AddAdds) {
  auto add = prepare_kind("add");
  const std::vector<double> c = run_and_read(*add);
  const std::vector<double> a = add->read_operand(0);
  const std::vector<double> b = add->read_operand(1);
  for (std::size_t i = 0; i < c.size(); ++i) {
    const double sum = a[i] + b[i];
    ASSERT_NEAR(c[i], sum, std::abs(sum) * rounding(GetParam().dtype)) << i;
  }
}

TEST_P(CudaElementwise, ReluCutsAtZero) {
  auto relu = prepare_kind("relu");
  const std::vector<double> y = run_and_read(*relu);
  const std::vector<double> x = relu->read_operand(0);
  for (std::size_t i = 0; i < y.size(); ++i) ASSERT_EQ(y[i], std::max(x[i], 0.0)) << i;
}

std::vector<ElementwiseCase> elementwise_cases() {
  std::vector<ElementwiseCase> cases;
  for (const DataType dtype : {DataType::f64, DataType::f32, DataType::tf32, DataType::f16, DataType::bf16}) {
    // One element; less and more than a vector; a whole number of vectors; more than the GPU holds threads
    // for.
    for (const std::int64_t count : {1, 7, 1003, 65536, 20000003}) cases.push_back({dtype, count});
  }
  return cases;
}

INSTANTIATE_TEST_SUITE_P(All, CudaElementwise, testing::ValuesIn(elementwise_cases()),
                         [](const auto& tested) {
                           return fmt::format("{}_{}", to_string(tested.param.dtype), tested.param.count);
                         });

}  // namespace
}  // namespace jitterscope
