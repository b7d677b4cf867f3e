#include <gmock/gmock.h>

#include "jitterscope/error.hpp"
#include "plan/networks.hpp"
#include "plan/step_plan.hpp"

namespace jitterscope::plan {
namespace {

using testing::HasSubstr;

constexpr Nanoseconds ns(double count) { return Nanoseconds(count); }

TEST(Simulate, NodesOfAStreamRunInTheirOrderAndStreamsSideBySide) {
  StepPlan plan;
  plan.classes = {{}};
  plan.add({.cost = ns(10)});
  const NodeId second = plan.add({.cost = ns(20)});
  const NodeId copy = plan.add({.work = Work::copy, .stream = 6, .cost = ns(5)});
  const NodeId after = plan.add({.work = Work::copy, .stream = 6, .cost = ns(7), .after = {second}});
  const SimulatedStep step = simulate(plan);
  EXPECT_EQ(step.nodes[second].begin, ns(10));
  EXPECT_EQ(step.nodes[copy].end, ns(5));
  EXPECT_EQ(step.nodes[after].begin, ns(30));
  EXPECT_EQ(step.length, ns(37));
  EXPECT_EQ(step.classes[0].busy, ns(30));
  EXPECT_EQ(step.classes[0].idle.exposed, ns(7));
}

TEST(Simulate, AMeetingBeginsWithTheLastToArriveAndSaysWhoWaited) {
  StepPlan plan;
  plan.classes = {{.first_rank = 0}, {.first_rank = 1, .slowness = 1.5}};
  const std::size_t meeting = plan.add_meeting(ns(4));
  for (const std::size_t c : {0u, 1u}) {
    const NodeId work = plan.add({.rank_class = c, .cost = ns(10)});
    plan.join(meeting,
              {.work = Work::collective, .rank_class = c, .stream = kExchangeStream, .after = {work}});
  }
  const SimulatedStep step = simulate(plan);
  EXPECT_EQ(step.length, ns(19));
  EXPECT_EQ(step.classes[0].idle.straggler, ns(5));
  EXPECT_EQ(step.classes[0].idle.exposed, ns(4));
  EXPECT_EQ(step.classes[1].idle.straggler, ns(0));
  EXPECT_EQ(step.classes[1].idle.exposed, ns(4));
}

TEST(Simulate, WhatIsHiddenBehindComputingIsNotExposed) {
  StepPlan plan;
  plan.classes = {{}};
  const NodeId first = plan.add({.cost = ns(10)});
  plan.join(plan.add_meeting(ns(25)),
            {.work = Work::collective, .stream = kExchangeStream, .after = {first}});
  plan.add({.cost = ns(20)});
  const SimulatedStep step = simulate(plan);
  EXPECT_EQ(step.length, ns(35));
  EXPECT_EQ(step.classes[0].communication, ns(25));
  EXPECT_EQ(step.classes[0].idle.exposed, ns(5));
  EXPECT_EQ(step.classes[0].hidden(), ns(20));
}

TEST(Simulate, OverlapSlowsBothForAsLongAsItLasts) {
  StepPlan plan;
  plan.classes = {{}};
  plan.tax = {.compute = 1.25, .communication = 2.0};
  const NodeId first = plan.add({.cost = ns(10)});
  const NodeId meeting = plan.join(plan.add_meeting(ns(30)),
                                   {.work = Work::collective, .stream = kExchangeStream, .after = {first}});
  const NodeId second = plan.add({.cost = ns(40)});
  const SimulatedStep step = simulate(plan);
  // Both run for 50 ns, in which the transfer does 25 of its 30; the rest runs alone.
  EXPECT_EQ(step.nodes[second].end, ns(60));
  EXPECT_EQ(step.nodes[meeting].end, ns(65));
}

TEST(Simulate, ComputingIsFasterAgainOnceTheTransferIsOver) {
  StepPlan plan;
  plan.classes = {{}};
  plan.tax = {.compute = 1.25, .communication = 2.0};
  plan.join(plan.add_meeting(ns(5)), {.work = Work::collective, .stream = kExchangeStream});
  const NodeId work = plan.add({.cost = ns(40)});
  EXPECT_EQ(simulate(plan).nodes[work].end, ns(10 + 40 - 8));
}

TEST(Simulate, AHostThatLaunchesSlowlyIsWaitedFor) {
  StepPlan plan;
  plan.classes = {{}};
  for (int i = 0; i < 3; ++i) plan.add({.cost = ns(2), .launch = ns(5)});
  const SimulatedStep step = simulate(plan);
  EXPECT_EQ(step.length, ns(15));
  EXPECT_EQ(step.classes[0].busy, ns(6));
  EXPECT_EQ(step.classes[0].idle.launch, ns(9));
}

TEST(Simulate, AHostThatRunsAheadCostsNothing) {
  StepPlan plan;
  plan.classes = {{}};
  for (int i = 0; i < 3; ++i) plan.add({.cost = ns(20), .launch = ns(5)});
  EXPECT_EQ(simulate(plan).length, ns(60));
}

TEST(Simulate, RanksThatExchangeInUnlikeOrderAreNamed) {
  StepPlan plan;
  plan.classes = {{.first_rank = 0}, {.first_rank = 7}};
  const std::size_t a = plan.add_meeting(ns(1)), b = plan.add_meeting(ns(1));
  plan.join(a, {.work = Work::collective, .rank_class = 0, .name = "first"});
  plan.join(b, {.work = Work::collective, .rank_class = 0, .name = "second"});
  plan.join(b, {.work = Work::collective, .rank_class = 1, .name = "second"});
  plan.join(a, {.work = Work::collective, .rank_class = 1, .name = "first"});
  try {
    simulate(plan);
    FAIL() << "it ended";
  } catch (const FailedError& error) {
    EXPECT_THAT(error.what(), HasSubstr("never ends"));
    EXPECT_THAT(error.what(), HasSubstr("\"first\" of rank 0"));
  }
}

// Whatever a plan looks like, a rank computes or waits for something that has a name.
TEST(Simulate, CausesAddUpToTheStep) {
  const NetworkCosts network = equal_blocks(8, ns(1000), ns(2100), Bytes(1 << 20), Bytes(1 << 16));
  const TransferCosts transfers = exact_links(ns(300), 2e11, 8);
  const Job job{
      .network = network, .around = {.transfers = transfers, .tax = {1.1, 1.3}}, .micro_batches = 16};
  const SlowRank slow{3, 1.2};
  for (const Arrangement& arrangement : std::vector<Arrangement>{
           {.grid = {.data = 8}},
           {.grid = {.data = 8}, .way = {.sharding = Sharding::parameters}},
           {.grid = {.data = 2, .pipeline = 4}},
           {.grid = {.data = 2, .pipeline = 4}, .schedule = Schedule::interleaved, .chunks = 2},
           {.grid = {.pipeline = 4}, .schedule = Schedule::gpipe, .sends_block = true}}) {
    const StepPlan plan = step_of(job, arrangement, {&slow, 1});
    const SimulatedStep step = simulate(plan);
    for (const ClassTimes& each : step.classes)
      EXPECT_NEAR(relative(each.busy + each.idle.sum(), step.length), 0.0, kExact) << to_text(arrangement);
    EXPECT_EQ(length_of(plan), step.length);
  }
}

}  // namespace
}  // namespace jitterscope::plan
