#include "measure/verify.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "jitterscope/error.hpp"
#include "measure/trials.hpp"
#include "measuring.hpp"
#include "operation/samples.hpp"

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

TEST(Verify, ConversionsOfTypesAreTheSameWork) {
  const Operation product = Operation::parse("linear:n=8,in=8,out=4");
  const auto is_same = [&](const std::string& chain) {
    return is_same_work(Operation::parse("chain:" + chain), product);
  };
  const std::string front = "[convert:count=64,to_dtype=f16]", half = "[linear:n=8,in=8,out=4,dtype=f16]";
  EXPECT_TRUE(is_same(front + half));
  EXPECT_TRUE(is_same(half + "[convert:count=32,dtype=f16,to_dtype=f32]"));
  EXPECT_FALSE(is_same(front + half + ",lanes=2"));
  EXPECT_FALSE(is_same("[convert:count=63,to_dtype=f16]" + half)) << "it is not handed on";
  EXPECT_FALSE(is_same(front + half + "[relu:count=32,dtype=f16]"));
  EXPECT_FALSE(is_same(front)) << "nothing but a conversion";
  EXPECT_FALSE(is_same("[convert:n=8,c=2,hw=2,to=nhwc][linear:n=8,in=8,out=4]")) << "another order";
}

// As of the f16 product alone, whose inputs are all rounded.
TEST(Verify, AConvertedInputsErrorIsThatOfAllRounding) {
  const std::unique_ptr<Device> device = open_device("virtual:quiet");
  const std::unique_ptr<Queue> queue = device->make_queue();
  const Operation product = Operation::parse("linear:n=64,in=64,out=64");
  const auto fine = device->prepare(product.with_dtype(DataType::f64), InputData());
  const auto half = device->prepare(product.with_dtype(DataType::f16), InputData());
  const auto chain = device->prepare(
      Operation::parse("chain:[convert:count=4096,to_dtype=f16][linear:n=64,in=64,out=64,dtype=f16]"),
      InputData());
  const Verification verification = verify(*queue, *chain, *fine);
  EXPECT_TRUE(verification.passed) << verification.relative_error;
  EXPECT_NEAR(verification.relative_error, verify(*queue, *half, *fine).relative_error, 1e-5);
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

// 1,600 elements of 26,000 terms each, of which 1,538 are affordable.
TEST(Verify, AFaultInACornerOfALargeProductIsFound) {
  const Operation product(Matmul{.m = 40, .n = 40, .k = 26'000});
  const auto spoilt_at = [&](std::size_t index) {
    return verify_with(product, [=](std::vector<double>& output) { output[index] += 1e7; });
  };
  const Verification right = verify_with(product);
  EXPECT_TRUE(right.passed);
  EXPECT_LT(right.checked, right.total);
  for (const std::size_t corner : {39, 1599}) EXPECT_FALSE(spoilt_at(corner).passed) << corner;
}

std::vector<Trial> trials_with_queues(const std::vector<Operation>& operations) {
  std::vector<Trial> group;
  for (const Operation& operation : operations) {
    for (const QueueMode queue : {QueueMode::saturated, QueueMode::eager}) {
      MeasureOptions options = one_condition(CacheState::warm, Load::burst);
      options.queue = queue;
      group.push_back({operation, options});
    }
  }
  return group;
}

TEST(VerifyTrials, TheSameLaunchIsComparedOnce) {
  int read = 0;
  Script script;
  script.spoil = [&](auto&) { ++read; };
  Laboratory laboratory(script);
  const Operation other(Matmul{.m = 25, .n = 30, .k = 16});
  for (const Outcome& outcome : measure_trials(
           laboratory.session, {trials_with_queues({kMatmul, other}), trials_with_queues({kMatmul})}, true)) {
    ASSERT_FALSE(outcome.error);
    ASSERT_TRUE(outcome.result.verification);
    EXPECT_TRUE(outcome.result.verification->passed);
  }
  EXPECT_EQ(read, 2);
}

TEST(VerifyTrials, ATrialMayBeLeftOut) {
  Script script;
  Laboratory laboratory(script);
  std::vector<Trial> group = trials_with_queues({kMatmul});
  group[1].verify = false;
  const std::vector<Outcome> outcomes = measure_trials(laboratory.session, {group}, true);
  EXPECT_TRUE(outcomes[0].result.verification);
  EXPECT_FALSE(outcomes[1].result.verification);
}

TEST(VerifyTrials, OfASimulatedGpuAPartShowsWhatRoundingDoes) {
  const Operation conv = Operation::parse("conv2d:n=32,c=64,hw=56,k=64,rs=3,pad=1,dtype=f16");
  const Operation single = conv.with_dtype(DataType::f32);
  const VerifiedParts parts = verified_parts(conv, single);
  EXPECT_TRUE(is_same_work(parts.own, parts.inputs));
  EXPECT_EQ(verified_parts(with_larger_batch(conv, 64), single).own, parts.own)
      << "how many samples there are changes nothing";
  const auto& part = std::get<Conv2d>(parts.own.parameters());
  EXPECT_EQ(part.c, 64) << "sums are as long";
  EXPECT_EQ(part.r, 3);
  const auto device = open_device("virtual:quiet");
  Session session(*device);
  const std::optional<Verification> found =
      measure_operation(session, conv, one_condition(CacheState::warm, Load::burst), true).verification;
  ASSERT_TRUE(found);
  EXPECT_TRUE(found->passed);
  EXPECT_TRUE(found->same_formula);
  EXPECT_EQ(found->total, 32 * 64 * 56 * 56);
  EXPECT_LT(found->checked, found->total / 10);
  EXPECT_GT(found->checked, 100);
  EXPECT_GT(found->relative_error, 1e-5);
  EXPECT_LT(found->relative_error, 1e-3);
}

// In f16 sums of a few channels alone could be so near zero that rounding looks like a wrong result.
TEST(VerifyTrials, PartsHaveEnoughResultsOfEachOutput) {
  for (const char* text :
       {"batch_norm:n=32,c=64,hw=112,dtype=f16,pass=backward",
        "conv2d:n=32,c=256,hw=56,k=64,rs=1,dtype=f16,direction=wgrad",
        "layer_norm:rows=64Ki,columns=1024,pass=backward", "linear:n=64Ki,in=4096,out=4096"}) {
    const Operation whole = Operation::parse(text), part = verified_parts(whole, whole).own;
    EXPECT_LT(verification_time(part), verification_time(whole)) << text;
    for (const Operand& operand : part.operands()) {
      if (operand.role != OperandRole::output) continue;
      EXPECT_GE(operand.count, 64) << part.text() << ' ' << operand.name;
    }
  }
}

TEST(VerifyTrials, ChainsStayWholeWhereAStepMayReadTooEarly) {
  const Operation on_streams = Operation::parse("chain:[relu:count=64Mi]*2,streams=2,spread=step,order=none");
  EXPECT_EQ(verified_parts(on_streams, on_streams).own, on_streams);
  const Operation half = Operation::parse("linear:n=4096,in=1024,out=1024,dtype=f16");
  const Operation chain =
      Operation::parse("chain:[convert:count=4Mi,to_dtype=f16][linear:n=4096,in=1024,out=1024,dtype=f16]");
  const VerifiedParts parts = verified_parts(chain, half.with_dtype(DataType::f32));
  EXPECT_TRUE(is_same_work(parts.own, parts.inputs));
  EXPECT_LT(parts.own.flops(), chain.flops());
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

const char* const kKernel =
    "cuda:@saxpy:mine,grid=1,block=1,registers=32,fast_math=1,optimize=1,architecture=80,reference=right,x=f32[4],n=4,y=inout:f32[4],z=out:i32[4]";

// mine and right leave these in z; in y the same.
std::optional<Verification> verify_kernel(const std::vector<double>& mine, const std::vector<double>& right,
                                          const std::string& text = kKernel) {
  Script script;
  script.kernel = [&](const CudaKernel& kernel, const Operand& operand) {
    const bool is_reference = kernel.kernel == "right";
    EXPECT_EQ(kernel.fast_math, !is_reference) << "options that change results are not the reference's";
    EXPECT_EQ(kernel.registers, is_reference ? 0 : 32);
    EXPECT_EQ(kernel.optimize, is_reference ? 3 : 1);
    EXPECT_EQ(kernel.architecture, is_reference ? 0 : 80);
    EXPECT_NE(operand.name, "x") << "only what is written is compared";
    if (operand.name == "y") return std::vector<double>{1, 2, 3, 4};
    return is_reference ? right : mine;
  };
  Bench bench(script);
  return verify_by_reference(bench.device, *bench.queue, Operation::parse(text), InputData());
}

TEST(VerifyKernel, ComparesAllThatIsWrittenWithTheReference) {
  const auto same = verify_kernel({1, 2, 3, 4}, {1, 2, 3, 4});
  ASSERT_TRUE(same);
  EXPECT_TRUE(same->passed);
  EXPECT_EQ(same->checked, 8);
  EXPECT_EQ(same->total, 8);
  EXPECT_FALSE(same->same_formula);
  const auto other = verify_kernel({1, 2, 3, 5}, {1, 2, 3, 4});
  EXPECT_FALSE(other->passed) << "integers are exact";
  EXPECT_NEAR(other->relative_error, 1 / std::sqrt(30.0), 1e-12);
}

TEST(VerifyKernel, WhatTheReferenceLeavesAloneMayBeLeftAlone) {
  const double poison = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(verify_kernel({1, 2, 3, poison}, {1, 2, 3, poison})->passed);
  const auto missing = verify_kernel({1, 2, poison, poison}, {1, 2, 3, poison});
  EXPECT_FALSE(missing->passed);
  EXPECT_EQ(missing->unwritten, 1);
  EXPECT_FALSE(verify_kernel({1, 2, 3, 4}, {1, 2, 3, poison})->passed);
}

TEST(VerifyKernel, WithoutAReferenceOrAGpuThereIsNothingToVerify) {
  EXPECT_FALSE(verify_kernel({}, {}, "cuda:@saxpy:f,grid=1,block=1,y=out:f32[4]"));
  const auto device = open_device("virtual:quiet");
  const auto queue = device->make_queue();
  EXPECT_FALSE(verify_by_reference(*device, *queue, Operation::parse(kKernel), InputData()));
}

// Kernels of one file, launched in a group with the arguments of the first.
std::vector<std::optional<Verification>> verify_beside_first(const std::vector<std::string>& texts) {
  Script script;
  script.kernel = [](const CudaKernel& kernel, const Operand&) {
    if (kernel.block[0] == 64) return std::vector<double>{1, 2, 3, 9};
    return kernel.fast_math ? std::vector<double>{1, 2, 3, 4.000001} : std::vector<double>{1, 2, 3, 4};
  };
  Laboratory laboratory(script);
  std::vector<Trial> group;
  for (const std::string& text : texts) {
    group.push_back({Operation::parse(text), one_condition(CacheState::warm, Load::burst)});
  }
  std::vector<std::optional<Verification>> found;
  for (const Outcome& outcome : measure_trials(laboratory.session, {group}, true)) {
    EXPECT_FALSE(outcome.error);
    found.push_back(outcome.result.verification);
  }
  return found;
}

TEST(VerifyKernel, WithoutAReferenceItIsComparedWithTheFirst) {
  const std::string own = "cuda:@saxpy:f,grid=1,", buffers = ",n=4,y=out:f32[4]";
  const auto found = verify_beside_first({own + "block=32" + buffers, own + "block=32,fast_math=1" + buffers,
                                          own + "block=64" + buffers, own + "block=64,n=3,y=out:f32[4]",
                                          own + "block=32,shared=1024" + buffers});
  EXPECT_FALSE(found[0]) << "it is the one that counts";
  ASSERT_TRUE(found[1]);
  EXPECT_TRUE(found[1]->passed);
  EXPECT_GT(found[1]->relative_error, 1e-8);
  ASSERT_TRUE(found[2]);
  EXPECT_FALSE(found[2]->passed);
  EXPECT_FALSE(found[3]) << "other arguments, other work";
  ASSERT_TRUE(found[4]);
  EXPECT_EQ(found[4]->relative_error, 0.0);
}

TEST(Verify, WhatTheHostHasNoMemoryForKeepsItsTimes) {
  Script script;
  script.spoil = [](auto&) { throw std::bad_alloc(); };
  Laboratory laboratory(script);
  const std::vector<Outcome> outcomes =
      measure_trials(laboratory.session, {{{kMatmul, one_condition(CacheState::warm, Load::burst)}}}, true);
  ASSERT_EQ(outcomes.size(), 1u);
  EXPECT_FALSE(outcomes[0].error);
  EXPECT_FALSE(outcomes[0].result.verification);
  EXPECT_EQ(outcomes[0].result.measurements.size(), 1u);
  EXPECT_THAT(outcomes[0].not_verified, testing::HasSubstr("too little memory"));
}

TEST(VerifyKernel, IsWhatMeasuringAKernelAsksFor) {
  Script script;
  Laboratory laboratory(script);
  const MeasureOptions options = one_condition(CacheState::warm, Load::burst);
  const Operation with = Operation::parse(kKernel);
  const Operation without = Operation::parse("cuda:@saxpy:f,grid=1,block=1,y=out:f32[4]");
  EXPECT_TRUE(measure_operation(laboratory.session, with, options, true).verification);
  EXPECT_FALSE(measure_operation(laboratory.session, with, options, false).verification);
  EXPECT_FALSE(measure_operation(laboratory.session, without, options, true).verification);
  laboratory.device.script().writes_outside = true;
  EXPECT_THROW(measure_operation(laboratory.session, without, options, false), FailedError);
}

}  // namespace
}  // namespace jitterscope::scripted
