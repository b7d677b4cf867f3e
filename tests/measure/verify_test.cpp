#include "measure/verify.hpp"

#include <gmock/gmock.h>

#include <limits>

#include "jitterscope/error.hpp"
#include "measuring.hpp"

namespace jitterscope::scripted {
namespace {

Verification verify_with(const Operation& operation, std::function<void(std::vector<double>&)> spoil = {}) {
  Script script;
  if (spoil) script.spoil = std::move(spoil);
  Bench bench(script);
  const auto prepared = bench.device.prepare(operation, InputData());
  return verify(*bench.queue, *prepared);
}

const Operation kMatmul(Matmul{.m = 24, .n = 30, .k = 16});

TEST(Verify, RightResultPasses) {
  for (const DataType dtype : {DataType::f64, DataType::f32, DataType::tf32, DataType::f16, DataType::bf16}) {
    const Verification verification = verify_with(kMatmul.with_dtype(dtype));
    EXPECT_TRUE(verification.passed);
    EXPECT_FALSE(verification.same_formula);
    EXPECT_EQ(verification.relative_error, 0.0);
    EXPECT_EQ(verification.checked, 24 * 30);
    EXPECT_EQ(verification.total, 24 * 30);
    EXPECT_EQ(verification.tolerance, verification_tolerance(dtype));
  }
}

// A scripted device rounds nothing.
TEST(Verify, AnotherTypesErrorIsThatOfItsRoundedInputsToo) {
  const std::unique_ptr<Device> device = open_device("virtual:quiet");
  const std::unique_ptr<Queue> queue = device->make_queue();
  const auto fine = device->prepare(kMatmul.with_dtype(DataType::f64), InputData());
  const auto coarse = device->prepare(kMatmul.with_dtype(DataType::f16), InputData());
  const double of_own_inputs = verify(*queue, *coarse).relative_error;
  const Verification verification = verify(*queue, *coarse, *fine);
  EXPECT_GT(verification.relative_error, 1.3 * of_own_inputs);
  EXPECT_LT(verification.relative_error, 1e-3);
  EXPECT_TRUE(verification.passed);
  // The finer result is as good as the coarser inputs allow.
  EXPECT_EQ(verify(*queue, *fine, *coarse).tolerance, verification_tolerance(DataType::f16));
}

TEST(Verify, IndicesOfRoundedInputsAreNotCompared) {
  Script script;
  Bench bench(script);
  const Operation pool(
      Pool2d{.n = 1, .c = 2, .h = 4, .w = 4, .window_h = 2, .window_w = 2, .stride_h = 2, .stride_w = 2});
  const auto fine = bench.device.prepare(pool, InputData());
  const auto coarse = bench.device.prepare(pool.with_dtype(DataType::bf16), InputData());
  EXPECT_EQ(verify(*bench.queue, *coarse).checked, 16);
  EXPECT_EQ(verify(*bench.queue, *coarse, *fine).checked, 8);
}

TEST(Verify, TheSameWorkDiffersInTypeAndEngineAlone) {
  EXPECT_TRUE(is_same_work(kMatmul, kMatmul.with_dtype(DataType::f16)));
  EXPECT_TRUE(is_same_work(kMatmul, Operation(Matmul{.m = 24, .n = 30, .k = 16, .engine = "algo1"})));
  EXPECT_FALSE(is_same_work(kMatmul, Operation(Matmul{.m = 24, .n = 30, .k = 17})));
  EXPECT_FALSE(is_same_work(kMatmul, Operation::parse("add:count=8")));
}

TEST(Verify, OneWrongElementFails) {
  const Verification verification =
      verify_with(kMatmul, [](std::vector<double>& output) { output[77] += 10.0; });
  EXPECT_FALSE(verification.passed);
  EXPECT_GT(verification.relative_error, verification.tolerance);
  EXPECT_EQ(verification.unwritten, 0);
}

TEST(Verify, RoundingPasses) {
  const auto round_off = [](std::vector<double>& output) {
    for (double& value : output) value *= 1.0 + 5e-6;
  };
  EXPECT_TRUE(verify_with(kMatmul, round_off).passed);
  EXPECT_FALSE(verify_with(kMatmul.with_dtype(DataType::f64), round_off).passed);
}

TEST(Verify, UnwrittenElementsAreCounted) {
  const Verification verification = verify_with(kMatmul, [](std::vector<double>& output) {
    output[0] = output[719] = std::numeric_limits<double>::quiet_NaN();
  });
  EXPECT_FALSE(verification.passed);
  EXPECT_EQ(verification.unwritten, 2);
}

TEST(Verify, EveryOutputIsCompared) {
  const Operation adam(OptimizerStep{.kind = OptimizerKind::momentum, .count = 20});
  const Verification right = verify_with(adam);
  EXPECT_TRUE(right.passed);
  EXPECT_EQ(right.checked, 40);
  EXPECT_EQ(right.total, 40);
  const Verification wrong = verify_with(adam, [](std::vector<double>& output) { output[3] += 1.0; });
  EXPECT_FALSE(wrong.passed);
  EXPECT_GT(wrong.relative_error, wrong.tolerance);
}

TEST(Verify, IndicesHaveToBeExact) {
  const Operation pool(Pool2d{.h = 400, .w = 400, .window_h = 2, .window_w = 2});
  EXPECT_TRUE(verify_with(pool).passed);
  const Verification wrong = verify_with(pool, [](std::vector<double>& output) { output[1521] += 1.0; });
  EXPECT_FALSE(wrong.passed);
  EXPECT_EQ(wrong.tolerance, 0.0);
  EXPECT_LT(wrong.relative_error, verification_tolerance(DataType::f32)) << "far below what values may have";
  const Verification unwritten = verify_with(pool, [](std::vector<double>& output) { output[7] = -1.0; });
  EXPECT_EQ(unwritten.unwritten, 1);
}

// 2,500 outputs of a million terms each: comparing all of them would take minutes.
const Operation kLong(Matmul{.m = 50, .n = 50, .k = 1'000'000});

class LongMatmul final : public PreparedOperation {
 public:
  void run(NativeQueue queue) override { launch_kernel(queue); }
  const Operation& operation() const override { return kLong; }
  std::string provider() const override { return "builtin"; }
  std::string algorithm() const override { return ""; }
  void poison_outputs() override {}
  std::vector<double> read_operand(std::size_t index) override {
    const auto count = static_cast<std::size_t>(kLong.operands()[index].count);
    std::vector<double> values(count, index == 2 ? 1e6 : 1.0);
    if (index == 2) values[1234] = std::numeric_limits<double>::quiet_NaN();
    return values;
  }
};

TEST(Verify, LargeOutputsAreComparedInPartAndSearchedWhole) {
  Bench bench;
  LongMatmul matmul;
  const Verification verification = verify(*bench.queue, matmul);
  EXPECT_GE(verification.checked, 200);
  EXPECT_LT(verification.checked, 300);
  EXPECT_EQ(verification.total, 2500);
  EXPECT_EQ(verification.unwritten, 1);
  EXPECT_FALSE(verification.passed);
}

// A reference of zeros has no relative error: the difference itself must be judged.
TEST(Verify, WrongResultFailsWhereZerosAreExpected) {
  const Operation zero(Matmul{.m = 1, .n = 1, .k = 1});
  ASSERT_TRUE(verify_with(zero).passed);
  EXPECT_FALSE(verify_with(zero, [](std::vector<double>& output) { output[0] += 1; }).passed);
}

TEST(Verify, SpinHasNothingToVerify) {
  EXPECT_THROW(verify_with(Operation(Spin{.amount = 1000})), UsageError);
}

TEST(Verify, TolerancesFollowThePrecision) {
  EXPECT_LT(verification_tolerance(DataType::f64), verification_tolerance(DataType::f32));
  EXPECT_LT(verification_tolerance(DataType::f32), verification_tolerance(DataType::tf32));
  EXPECT_LT(verification_tolerance(DataType::tf32), verification_tolerance(DataType::f16));
  EXPECT_LT(verification_tolerance(DataType::f16), verification_tolerance(DataType::bf16));
}

}  // namespace
}  // namespace jitterscope::scripted
