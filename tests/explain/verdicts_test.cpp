// Verdicts from differences that are known, without a device.
#include "explain/verdicts.hpp"

#include <gmock/gmock.h>

#include "base/random.hpp"

namespace jitterscope::explain {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

constexpr int kBlocks = 12;

class Verdicts : public testing::Test {
 protected:
  // A factor whose doses have these effects, each block with so much noise.
  void add(const std::string& id, const std::vector<double>& effects, bool doses_grow, double noise = 0.001) {
    Factor factor{.id = id, .doses_grow = doses_grow};
    for (std::size_t dose = 0; dose < effects.size(); ++dose) {
      factor.doses.push_back({"dose " + std::to_string(dose), {}});
      PairedEffect paired{.factor = factors_.size(), .dose = dose};
      for (int block = 0; block < kBlocks; ++block) {
        paired.log_times.push_back(effects[dose] + noise * random_.normal());
      }
      paired_.doses.push_back(paired);
    }
    factors_.push_back(std::move(factor));
  }

  std::vector<FactorResult> judged() {
    FactorList factors;
    for (const Factor& factor : factors_) factors.push_back(&factor);
    std::vector<FactorResult> results(factors.size());
    judge_factors(factors, paired_, results);
    return results;
  }

  Random random_{5};
  std::vector<Factor> factors_;
  PairedEffects paired_;
};

TEST_F(Verdicts, ACauseIsShownMaterialAndGrows) {
  add("grows", {0.01, 0.02, 0.03}, true);
  add("stays", {0.02, 0.02, 0.02}, true);
  add("two levels", {0.02}, false);
  for (const FactorResult& result : judged()) EXPECT_EQ(result.verdict, FactorVerdict::cause);
  EXPECT_EQ(judged()[0].strongest, 2u);
}

TEST_F(Verdicts, WhatFallsWithItsDoseIsNoCause) {
  add("falls", {0.06, 0.05, 0.02}, true);
  const FactorResult result = judged().front();
  EXPECT_EQ(result.verdict, FactorVerdict::unresolved);
  EXPECT_THAT(result.reason, HasSubstr("more of it does not do more"));
}

TEST_F(Verdicts, WhatCanOnlyTakeTimeIsNoCauseOfLess) {
  add("a busy core", {-0.1, -0.2, -0.4}, true);
  factors_.back().only_slows = true;
  EXPECT_EQ(judged().front().verdict, FactorVerdict::unresolved);
  EXPECT_EQ(judged().front().reason, "that can only take time");
}

TEST_F(Verdicts, WhatIsCompleteAtItsFirstDoseMayWaverBeyondIt) {
  add("wavers", {0.151, 0.156, 0.1445}, true, 0.0001);
  EXPECT_EQ(judged().front().verdict, FactorVerdict::cause);
}

// On a machine that changed its speed, factors that do nothing were shown to take 18 ± 15 % longer, and with
// them cold caches 34 ± 12 %.
TEST_F(Verdicts, WhatIsNotShownToExceedADummyIsNoCause) {
  add("cold", {0.34}, false, 0.12);
  add("much more", {0.9}, false, 0.12);
  PairedEffect dummy;
  for (int block = 0; block < kBlocks; ++block) dummy.log_times.push_back(0.2 + 0.2 * random_.normal());
  paired_.dummies = {dummy, dummy};
  const std::vector<FactorResult> results = judged();
  EXPECT_EQ(results[0].verdict, FactorVerdict::unresolved);
  EXPECT_THAT(results[0].reason, HasSubstr("a factor that does nothing moved the time by +"));
  EXPECT_EQ(results[1].verdict, FactorVerdict::cause);
}

TEST_F(Verdicts, OfThreeBlocksNothingIsACause) {
  add("shown", {0.05}, false, 0.0001);
  for (std::vector<double>* values : {&paired_.doses.front().log_times}) values->resize(3);
  EXPECT_EQ(judged().front().verdict, FactorVerdict::unresolved);
}

TEST_F(Verdicts, WhatHasNoOrderIsJudgedByItsLargestEffect) {
  add("engine", {0.002, -0.08, 0.01}, false);
  EXPECT_EQ(judged().front().strongest, 1u);
  EXPECT_EQ(judged().front().verdict, FactorVerdict::cause);
}

TEST_F(Verdicts, ClearedNeedsEveryDoseWithinHalfAPercent) {
  add("none", {0.0, 0.0005}, false);
  add("one dose", {0.0, 0.003}, false, 0.005);
  const std::vector<FactorResult> results = judged();
  EXPECT_EQ(results[0].verdict, FactorVerdict::cleared);
  EXPECT_EQ(results[1].verdict, FactorVerdict::unresolved);
}

TEST_F(Verdicts, AnEffectThatIsShownButSmallIsNoCause) {
  add("small", {0.004}, false, 0.0001);
  EXPECT_EQ(judged().front().verdict, FactorVerdict::cleared);
}

TEST_F(Verdicts, NoiseIsUnresolvedAndSaysHowManyBlocksAreNeeded) {
  add("noisy", {0.003}, false, 0.02);
  const FactorResult result = judged().front();
  EXPECT_EQ(result.verdict, FactorVerdict::unresolved);
  ASSERT_TRUE(result.blocks_to_decide);
  EXPECT_GT(*result.blocks_to_decide, kBlocks);
  EXPECT_EQ(result.doses.front().blocks, kBlocks);
}

TEST_F(Verdicts, AmongManyDosesMoreBlocksAreNeeded) {
  add("noisy", {0.02}, false, 0.03);
  const FactorResult alone = judged().front();
  for (int i = 0; i < 30; ++i) add("other", {0.0}, false);
  const FactorResult among_many = judged().front();
  ASSERT_TRUE(alone.blocks_to_decide && among_many.blocks_to_decide);
  EXPECT_GT(*among_many.blocks_to_decide, *alone.blocks_to_decide);
}

TEST_F(Verdicts, WhatCannotRunSaysWhy) {
  add("gone", {}, false);
  factors_.back().doses.push_back({"the only dose", {}});
  add("half gone", {0.02}, false);
  paired_.failures = {{0, 0, "out of memory"}, {1, 0, "no such engine"}};
  const std::vector<FactorResult> results = judged();
  EXPECT_EQ(results[0].verdict, FactorVerdict::not_identifiable);
  EXPECT_EQ(results[0].reason, "the only dose: out of memory");
  EXPECT_EQ(results[1].verdict, FactorVerdict::cause);
}

// One in twenty of forty doses that do nothing would be called a cause each time.
TEST_F(Verdicts, ManyDosesWithoutEffectNameNoCause) {
  int named = 0;
  constexpr int kStudies = 400;
  for (int study = 0; study < kStudies; ++study) {
    factors_.clear();
    paired_ = {};
    for (int i = 0; i < 10; ++i) add("nothing", {0.0, 0.0}, false, 0.02);
    for (const FactorResult& result : judged()) {
      if (result.verdict == FactorVerdict::cause) {
        ++named;
        break;
      }
    }
  }
  EXPECT_LE(named, kStudies * 8 / 100);
}

TEST(RatioOfBlocks, NeedsTwo) {
  EXPECT_FALSE(ratio_of_blocks({}));
  const std::vector<double> two = {0.0, 0.1};
  EXPECT_NEAR(ratio_of_blocks(two)->ratio, 1.0513, 1e-4);
}

}  // namespace
}  // namespace jitterscope::explain
