// Whole studies on simulated GPUs whose truth is known.
#include "explain/explain.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <numeric>

#include "device/virtual/virtual_device.hpp"
#include "explain/conclusions.hpp"
#include "physics/preset.hpp"

namespace jitterscope::explain {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

Operation convolution() {
  return Operation::parse("conv2d:n=256,c=64,hw=56,k=64,rs=3,pad=1,dtype=f16,layout=nhwc");
}

Explanation study(const physics::Parameters& gpu, const Operation& operation, const ExplainOptions& options) {
  const auto device = virtual_gpu::make_virtual_device(gpu, options.seed);
  Session session(*device);
  return explain(session, operation, options);
}

ExplainOptions quick(std::vector<std::string> factors = {}) {
  return {.factors = std::move(factors), .time_limit = seconds(30)};
}

const FactorResult& factor(const Explanation& explanation, const std::string& id) {
  return *std::ranges::find(explanation.factors, id, &FactorResult::id);
}

TEST(Explain, AClockThatSleepsIsACauseNamedFirst) {
  const Explanation found =
      study(physics::find_preset("laptop"), convolution(), quick({"idle", "data", "queue"}));
  EXPECT_EQ(found.factors.front().id, "idle");
  EXPECT_EQ(found.factors.front().verdict, FactorVerdict::cause);
  EXPECT_GT(found.factors.front().doses.back().time.low, 1.1);
  EXPECT_THAT(conclusions_of(found).front(), HasSubstr("An idle before the loop"));
}

TEST(Explain, WithoutTheMechanismItIsCleared) {
  const physics::Parameters gpu = physics::find_preset("laptop").without(physics::Mechanism::idle_ramp);
  const Explanation found = study(gpu, convolution(), {.factors = {"idle"}, .time_limit = seconds(60)});
  EXPECT_EQ(factor(found, "idle").verdict, FactorVerdict::cleared);
}

TEST(Explain, TheEffectOfAKnownDelayIsFound) {
  const Operation spin(Spin{.amount = 10'000});  // 10 us: the host needs about as long to launch
  ExplainOptions options = quick({"host_delay"});
  const Explanation found = study(physics::find_preset("quiet"), spin, options);
  const FactorResult& delay = factor(found, "host_delay");
  EXPECT_EQ(delay.verdict, FactorVerdict::cause);
  // The slowest dose, 20 us, stands within the events: more than half of it is seen beyond the kernel's time.
  EXPECT_GT(delay.doses.back().time.ratio, 1.5);
  EXPECT_LE(delay.doses.front().time.ratio, delay.doses.back().time.ratio);
}

TEST(Explain, EveryStepLeavesItsNumbers) {
  const Explanation found = study(physics::find_preset("h200"), convolution(), {.time_limit = seconds(120)});
  EXPECT_GE(found.observation.loops.size(), 4u);
  EXPECT_GT(found.screening_rounds, 16);
  EXPECT_GE(found.blocks, 6);
  ASSERT_EQ(found.dummies.size(), 2u);
  for (const DummyEffect& dummy : found.dummies) {
    ASSERT_TRUE(dummy.screened && dummy.paired);
    EXPECT_NEAR(dummy.paired->ratio, 1.0, 0.01);
  }
  EXPECT_EQ(factor(found, "engine").verdict, FactorVerdict::not_identifiable);
  EXPECT_THAT(factor(found, "engine").reason, HasSubstr("nothing to choose"));
  EXPECT_TRUE(factor(found, "cache").screened);
  ASSERT_FALSE(found.random_factors.empty());
  EXPECT_EQ(found.random_factors.front().id, "placement");
}

TEST(Explain, SharesOfTheVariationAddUp) {
  const Explanation found = study(physics::find_preset("laptop"), convolution(), quick({"idle"}));
  double sum = 0.0;
  for (const VariationShare& share : found.observation.shares) {
    sum += share.share;
    EXPECT_LE(share.low, share.share);
    EXPECT_GE(share.high, share.share);
  }
  EXPECT_NEAR(sum, 1.0, 1e-9);
  // The clock of the laptop rises from loop to loop and within each.
  EXPECT_GT(found.observation.shares[1].share, 0.3);
}

TEST(Explain, KeepsToItsTime) {
  for (const double limit : {30.0, 120.0}) {
    const Explanation found =
        study(physics::find_preset("h200"), convolution(), {.time_limit = seconds(limit)});
    EXPECT_LT(to_seconds(found.duration), limit + 5.0);
    EXPECT_GT(to_seconds(found.duration), limit * 0.8);
  }
}

TEST(Explain, AnInterruptionKeepsWhatIsKnown) {
  int asked = 0;
  ExplainOptions options = quick();
  options.interrupted = [&] { return ++asked > 40; };
  const Explanation found = study(physics::find_preset("quiet"), convolution(), options);
  EXPECT_TRUE(found.interrupted);
  EXPECT_FALSE(found.observation.loops.empty());
  EXPECT_EQ(factor(found, "cache").verdict, FactorVerdict::unresolved);
}

TEST(Explain, ProcessesGiveTheirSpread) {
  ExplainOptions options = quick();
  options.measure_in_processes = [](std::int64_t processes) {
    std::vector<TimeEstimate> times;
    for (std::int64_t i = 0; i < processes; ++i) {
      times.emplace_back().median = microseconds(100.0 + static_cast<double>(i % 2));
    }
    return times;
  };
  const Explanation found = study(physics::find_preset("quiet"), convolution(), options);
  const auto process = std::ranges::find(found.random_factors, "process", &RandomFactor::id);
  ASSERT_NE(process, found.random_factors.end());
  EXPECT_NEAR(process->deviation, 0.0055, 0.001);
  EXPECT_LT(process->low, process->deviation);
  options.measure_in_processes = [](std::int64_t) { return std::vector<TimeEstimate>(1); };
  const Explanation lost = study(physics::find_preset("quiet"), convolution(), options);
  EXPECT_THAT(lost.random_factors.back().not_available, HasSubstr("too few"));
}

TEST(Explain, AnUnknownFactorIsRefused) {
  try {
    study(physics::find_preset("quiet"), convolution(), quick({"chache"}));
    FAIL();
  } catch (const UsageError& error) {
    EXPECT_THAT(error.what(), HasSubstr("did you mean 'cache'"));
  }
}

TEST(Explain, ADoseThatCannotRunCostsItselfOnly) {
  // A product of 8192 in bf16 does not fit beside these operands.
  physics::Parameters gpu = physics::find_preset("h200");
  gpu.identity.memory = Bytes(300 << 20);
  const Explanation found = study(gpu, Operation(Copy{.bytes = 50 << 20}), quick({"load", "idle"}));
  EXPECT_EQ(factor(found, "load").verdict, FactorVerdict::not_identifiable);
  EXPECT_THAT(factor(found, "load").reason, HasSubstr("memory"));
  EXPECT_FALSE(factor(found, "idle").doses.empty());
}

TEST(Explain, OperandsThatFitOnceHaveNoOtherData) {
  physics::Parameters gpu = physics::find_preset("h200");
  gpu.identity.memory = Bytes(500 << 20);
  const Explanation found = study(gpu, Operation(Copy{.bytes = 150 << 20}), quick({"data", "idle"}));
  EXPECT_EQ(factor(found, "data").verdict, FactorVerdict::not_identifiable);
  EXPECT_THAT(factor(found, "data").reason, HasSubstr("memory"));
  EXPECT_FALSE(factor(found, "idle").doses.empty());
}

}  // namespace
}  // namespace jitterscope::explain
