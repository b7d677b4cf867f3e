// What an exchange adds to a step, from records of ranks whose times are known.
#include "experiment/parallel_steps.hpp"

#include <gmock/gmock.h>

namespace jitterscope {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

RunEntry entry_of(const std::string& name, double microseconds_of_launch) {
  RunEntry entry;
  entry.result.subject = Callable{name};
  Measurement measurement;
  measurement.conditions.cache = CacheState::warm;
  measurement.conditions.load = Load::burst;
  measurement.time = {microseconds(microseconds_of_launch), {}, {}, 10};
  entry.result.measurements.push_back(measurement);
  return entry;
}

const std::vector<StepArm> kArms = {{.step = "none", .exchange_alone = {}},
                                    {.step = "after", .exchange_alone = "after, alone"},
                                    {.step = "fourth", .exchange_alone = "fourth, alone", .steps = 4}};

// Rank 1 computes 4 us longer; groups differ by a factor.
std::vector<std::vector<RunRecord>> groups_of(std::vector<double> factors) {
  std::vector<std::vector<RunRecord>> groups;
  for (const double factor : factors) {
    std::vector<RunRecord> ranks(2);
    for (std::size_t r = 0; r < 2; ++r) {
      ranks[r].entries = {entry_of("none", (r == 0 ? 100 : 104) * factor), entry_of("after", 110 * factor),
                          entry_of("after, alone", 8 * factor), entry_of("fourth", 424 * factor),
                          entry_of("fourth, alone", 8 * factor)};
    }
    groups.push_back(std::move(ranks));
  }
  return groups;
}

TEST(StepsBetweenRanks, AreTakenApartBesideTheSlowestRanksComputing) {
  const ParallelSteps steps = analyse_steps(groups_of({1.0, 1.01, 0.99}), kArms);
  ASSERT_THAT(steps.arms, SizeIs(3));
  EXPECT_THAT(steps.numbers, ElementsAre(0, 1, 2));
  EXPECT_EQ(steps.slowest, 1u);
  EXPECT_NEAR(steps.waiting.median.value(), 2e3, 1.0) << "the mean of 0 and 4 us";
  EXPECT_NEAR(steps.computing[0].median.value(), 100e3, 1.0);
  const StepTimes& after = steps.arms[1];
  EXPECT_NEAR(after.over_first->ratio, 110.0 / 104.0, 1e-9);
  EXPECT_LT(after.over_first->high - after.over_first->low, 1e-9) << "what groups share cancels";
  EXPECT_NEAR(after.exposed->value.value(), 6e3, 1.0);
  EXPECT_NEAR(after.exchange->median.value(), 8e3, 1.0);
  EXPECT_NEAR(*hidden_share(after), 0.25, 1e-9);
  EXPECT_FALSE(hidden_share(steps.arms[0]));
}

TEST(StepsBetweenRanks, OfAnExchangeInEveryFourthAreOneStepEach) {
  const StepTimes fourth = analyse_steps(groups_of({1.0, 1.0}), kArms).arms[2];
  EXPECT_NEAR(fourth.time.median.value(), 106e3, 1.0);
  EXPECT_NEAR(fourth.exposed->value.value(), 2e3, 1.0);
  EXPECT_NEAR(fourth.exchange->median.value(), 2e3, 1.0);
}

TEST(StepsBetweenRanks, HaveNoIntervalFromOneGroup) {
  const ParallelSteps steps = analyse_steps(groups_of({1.0}), kArms);
  EXPECT_FALSE(steps.arms[1].over_first);
  EXPECT_FALSE(has_interval(steps.arms[1].time));
}

TEST(StepsBetweenRanks, LeaveOutAnArmThatNoGroupTimed) {
  auto groups = groups_of({1.0, 1.0});
  for (auto& ranks : groups) ranks[1].entries.erase(ranks[1].entries.begin() + 1);
  const ParallelSteps steps = analyse_steps(groups, kArms);
  EXPECT_THAT(steps.numbers, ElementsAre(0, 2));
  for (auto& ranks : groups) ranks[0].entries.clear();
  EXPECT_THAT(analyse_steps(groups, kArms).arms, IsEmpty());
}

TEST(StepsBetweenRanks, OfCutLayersStandBesideTheirOwnComputing) {
  auto groups = groups_of({1.0, 1.01});
  for (std::size_t g = 0; g < groups.size(); ++g) {
    for (std::size_t r = 0; r < 2; ++r)
      groups[g][r].entries.push_back(entry_of("cut", (r == 0 ? 60 : 63) * (g == 0 ? 1.0 : 1.01)));
  }
  std::vector<StepArm> arms = {kArms[0], kArms[1]};
  arms[1].computing_alone = "cut";
  const StepTimes cut = analyse_steps(groups, arms).arms[1];
  EXPECT_NEAR(cut.over_first->ratio, 110.0 / 104.0, 1e-9) << "over the whole";
  EXPECT_NEAR(cut.computing->median.value(), 63e3 * 1.005, 1.0) << "of the slowest rank";
  EXPECT_NEAR(cut.exposed->value.value(), 47e3 * 1.005, 1.0);
}

TEST(CutComputing, IsTakenApartByWhatACallIs) {
  const auto network = [](const char* product, const char* activation) {
    Model model;
    for (const std::string text : {product, "softmax:rows=8,columns=8", activation}) {
      model.layers.push_back({.names = {text}, .operation = Operation::parse(text)});
      model.calls.push_back({.layer = model.layers.size() - 1, .name = text, .inputs = {}});
    }
    return model;
  };
  const Model whole = network("matmul:m=8,n=8,k=8", "gelu:count=64"),
              part = network("matmul:m=8,n=4,k=8", "gelu:count=32");
  const auto times = [](double a, double b, double c) {
    return std::vector<Nanoseconds>{Nanoseconds(a), Nanoseconds(b), Nanoseconds(c)};
  };
  const CutComputing found = take_apart({whole, times(100, 20, 10)}, {part, times(58, 21, 6)}, 2);
  EXPECT_DOUBLE_EQ(found.even.value(), 65);
  EXPECT_DOUBLE_EQ(found.products.value(), 8);
  EXPECT_DOUBLE_EQ(found.not_cut.value(), 11);
  EXPECT_DOUBLE_EQ(found.rest.value(), 1);
  EXPECT_DOUBLE_EQ(found.sum().value(), 85);
}

TEST(StepsBetweenRanks, TellHowMuchKernelsAreSlowerBesideAnExchange) {
  auto groups = groups_of({1.0, 1.0});
  const auto kernel = [](const std::string& name, double time) {
    return LaunchKernel{name, microseconds(time), microseconds(time), microseconds(time)};
  };
  for (RunRecord& rank : groups.front()) {
    rank.entries[0].result.kernels = {kernel("conv", 50), kernel("relu", 10), kernel("conv", 40)};
    rank.entries[1].result.kernels = {kernel("conv", 50), kernel("reduce", 8), kernel("relu", 11),
                                      kernel("conv", 42)};
  }
  EXPECT_NEAR(*analyse_steps(groups, kArms).arms[1].computing_slowed, 0.03, 1e-9);
}

}  // namespace
}  // namespace jitterscope
