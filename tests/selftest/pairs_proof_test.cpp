#include <set>

#include "base/random.hpp"
#include "proving.hpp"
#include "statistics/statistics.hpp"

namespace jitterscope::selftest {
namespace {

using testing::HasSubstr;

// Processes whose estimates err by 0.1 % at random, and say so, and by a `process_effect` that they cannot
// see.
struct Processes {
  Random random{7};
  double process_effect = 0.0;
  std::set<std::uint64_t> seeds;

  TimeEstimate measure(std::uint64_t seed) {
    seeds.insert(seed);
    constexpr double kError = 0.001;
    const Nanoseconds median =
        microseconds(100) * (1.0 + kError * random.normal() + process_effect * random.normal());
    return {median, median * (1 - 1.96 * kError), median * (1 + 1.96 * kError), 20};
  }

  ProofOptions options(bool quick) {
    ProofOptions options{.quick = quick};
    options.measure_in_fresh_process = [this](const Operation&, std::uint64_t seed) { return measure(seed); };
    return options;
  }
};

TEST(PairsProof, EqualProcessesPass) {
  Processes processes;
  Court court(truthful_script(), processes.options(false));
  const std::vector<ProofLine> lines = prove_pairs(court.context);
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_THAT(verdicts(lines), testing::Each(testing::Ne(Verdict::missed)));
  EXPECT_EQ(processes.seeds.size(), 72u);  // each process has its own
}

TEST(PairsProof, AProcessEffectOfThreePercentMisses) {
  Processes processes;
  processes.process_effect = 0.03;
  Court court(truthful_script(), processes.options(true));
  const std::vector<ProofLine> lines = prove_pairs(court.context);
  ASSERT_EQ(verdicts(lines), std::vector{Verdict::missed});
  EXPECT_LT(lines[0].value->value, 0.3);
  EXPECT_THAT(lines[0].measured, HasSubstr(" of 12: "));
}

// By hand: P(Bin(12, 0.834) <= 7) = 0.0358. The exact interval of 6 of 12 ends at 79 %, of 7 at 85 %; that of
// 12 begins at 74 %, of 11 at 62 %.
TEST(PairsProof, TwelvePassSevenTellNothingAndSixMiss) {
  EXPECT_NEAR(statistics::probability_of_at_most(7, 12, 0.834), 0.0358, 5e-5);
  for (const auto& [inside, verdict] : {std::pair(12, Verdict::passed), std::pair(11, Verdict::inconclusive),
                                        std::pair(7, Verdict::inconclusive), std::pair(6, Verdict::missed)}) {
    int run = 0;
    ProofOptions options{.quick = true};
    options.measure_in_fresh_process = [&, inside = inside](auto&, auto) {
      const bool is_second = run % 2 == 1, is_inside = run / 2 < inside;
      ++run;
      const Nanoseconds median = microseconds(is_second && !is_inside ? 102 : 100);
      return TimeEstimate{median, microseconds(99), microseconds(101), 20};
    };
    Court court(truthful_script(), options);
    const ProofLine line = prove_pairs(court.context).at(0);
    EXPECT_EQ(run, 24);
    EXPECT_EQ(line.verdict, verdict);
    EXPECT_EQ(line.value->value, inside / 12.0);
    EXPECT_EQ(*line.value->low, statistics::clopper_pearson(inside, 12).low);
    EXPECT_THAT(line.note, HasSubstr(inside < 12 ? "largest distance 2 %" : "largest distance 0 %"));
  }
}

TEST(PairsProof, AFailingProcessIsPassedOn) {
  ProofOptions options{.quick = true};
  options.measure_in_fresh_process = [](auto&, auto) -> TimeEstimate { throw FailedError("no memory"); };
  Court court(truthful_script(), options);
  EXPECT_THROW(prove_pairs(court.context), FailedError);
}

}  // namespace
}  // namespace jitterscope::selftest
