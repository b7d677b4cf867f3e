// What several processes find of a difference, and of none, on simulated GPUs: each process has another one.
#include <gmock/gmock.h>

#include <cmath>

#include "experiment/comparison.hpp"
#include "worker/simulated_pair.hpp"

namespace jitterscope {
namespace {

using testing::AllOf;
using testing::Gt;
using testing::Le;
using testing::Lt;

Comparison compared_by_processes(const std::string& first, const std::string& second, std::uint64_t seed,
                                 double margin) {
  constexpr std::uint64_t kProcesses = 4;
  std::vector<RunRecord> processes;
  for (std::uint64_t i = 0; i < kProcesses; ++i) {
    processes.push_back(carry_out(test::pair_of(first, second, 1000 * seed + i), test::kNoListeners));
  }
  ComparisonRecord record;
  record.alternatives = {first, second};
  record.margin = margin;
  compare_processes({{RunEntry()}, 2}, processes, record);
  return record.comparisons.at(0);
}

TEST(ComparisonOfProcesses, TheSameCodeIsSeldomCalledDifferent) {
  constexpr int kComparisons = 100;
  int different = 0, wrong_by_much = 0;
  for (std::uint64_t seed = 1; seed <= kComparisons; ++seed) {
    const std::string operation = "spin:ns=" + std::to_string(5000 + 100 * seed);
    // No margin: whatever is shown counts.
    const Comparison comparison = compared_by_processes(operation, operation, seed, 1e-9);
    ASSERT_EQ(comparison.failure, "");
    using enum statistics::EffectVerdict;
    different += comparison.verdict == slower || comparison.verdict == faster ? 1 : 0;
    wrong_by_much += std::abs(comparison.time.ratio - 1.0) > 0.005 ? 1 : 0;
  }
  // 5 of 100 are expected; 12 or more come in one of 230 such tests.
  EXPECT_THAT(different, Le(11));
  EXPECT_EQ(wrong_by_much, 0);
}

TEST(ComparisonOfProcesses, OnePercentIsSeen) {
  const Comparison comparison = compared_by_processes("spin:ns=10000", "spin:ns=10100", 7, 0.002);
  EXPECT_EQ(comparison.verdict, statistics::EffectVerdict::slower);
  EXPECT_THAT(comparison.time.ratio, AllOf(Gt(1.007), Lt(1.012)));
}

}  // namespace
}  // namespace jitterscope
