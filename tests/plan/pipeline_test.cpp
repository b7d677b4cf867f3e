#include <gmock/gmock.h>

#include "jitterscope/error.hpp"
#include "plan/arrangement.hpp"
#include "plan/networks.hpp"

namespace jitterscope::plan {
namespace {

using testing::HasSubstr;

constexpr Nanoseconds kForward(1000), kBackward(2300);

struct Case {
  Schedule schedule;
  std::int64_t stages, micro_batches, chunks;
};

SimulatedStep simulated(const Case& each, const TransferCosts& transfers, Bytes output = {}) {
  const NetworkCosts network = equal_blocks(static_cast<std::size_t>(each.stages * each.chunks),
                                            kForward / static_cast<double>(each.chunks),
                                            kBackward / static_cast<double>(each.chunks), {}, output);
  const Job job{.network = network, .around = {.transfers = transfers}, .micro_batches = each.micro_batches};
  return simulate(
      step_of(job, {.grid = {.pipeline = each.stages}, .schedule = each.schedule, .chunks = each.chunks}));
}

TEST(Pipeline, GpipeAndOneForwardOneBackwardTakeTheSameTime) {
  const TransferCosts none;
  for (const Schedule schedule : {Schedule::gpipe, Schedule::one_f_one_b}) {
    for (const std::int64_t p : {2, 3, 4, 8}) {
      for (const std::int64_t m : {1, 2, 5, 32}) {
        const SimulatedStep step = simulated({schedule, p, m, 1}, none);
        const auto passes = static_cast<double>(m + p - 1);
        EXPECT_NEAR(relative(step.length, (kForward + kBackward) * passes), 0.0, kExact) << p << " " << m;
        for (const ClassTimes& stage : step.classes)
          EXPECT_NEAR(stage.idle.bubble / step.length, static_cast<double>(p - 1) / passes, kExact);
      }
    }
  }
}

TEST(Pipeline, ChunksShortenTheBubble) {
  const TransferCosts none;
  for (const std::int64_t p : {2, 4, 8}) {
    for (const std::int64_t v : {2, 3}) {
      for (const std::int64_t m : {p, 2 * p, 8 * p}) {
        const SimulatedStep step = simulated({Schedule::interleaved, p, m, v}, none);
        const double passes = static_cast<double>(m) + static_cast<double>(p - 1) / static_cast<double>(v);
        EXPECT_NEAR(relative(step.length, (kForward + kBackward) * passes), 0.0, kExact)
            << p << " " << v << " " << m;
        for (const ClassTimes& stage : step.classes)
          EXPECT_NEAR(stage.idle.bubble / step.length,
                      static_cast<double>(p - 1) / static_cast<double>(v * m + p - 1), kExact);
      }
    }
  }
}

TEST(Pipeline, MicroBatchesInTurnOverlapNothing) {
  const Nanoseconds send(500);
  const TransferCosts links = exact_links(send, 1e30);
  for (const std::int64_t p : {2, 4}) {
    for (const std::int64_t m : {1, 2, 4}) {
      const SimulatedStep step = simulated({Schedule::in_turn, p, m, 1}, links, Bytes(1));
      const Nanoseconds once =
          (kForward + kBackward) * static_cast<double>(p) + send * 2.0 * static_cast<double>(p - 1);
      EXPECT_NEAR(relative(step.length, once * static_cast<double>(m)), 0.0, kExact);
    }
  }
}

TEST(Pipeline, ASendThatBlocksIsPaidForEachMicroBatch) {
  const Nanoseconds send(500);
  const TransferCosts links = exact_links(send, 1e30);
  for (const std::int64_t m : {1, 2, 4, 9}) {
    const NetworkCosts network = equal_blocks(2, kForward, kBackward, {}, Bytes(1));
    const Job job{.network = network, .around = {.transfers = links}, .micro_batches = m};
    Arrangement arrangement{.grid = {.pipeline = 2}, .schedule = Schedule::gpipe, .sends_block = true};
    const auto times = static_cast<double>(m);
    const Nanoseconds both = kForward + kBackward;
    EXPECT_NEAR(relative(length_of(step_of(job, arrangement)), both * (times + 1.0) + send * 2.0 * times),
                0.0, kExact);
    // Side by side with computing, it is paid once in each direction.
    arrangement.sends_block = false;
    EXPECT_NEAR(relative(length_of(step_of(job, arrangement)), both * (times + 1.0) + send * 2.0), 0.0,
                kExact);
  }
}

// The same recursion as a table: a stage begins with a micro-batch once it has it and is done with the one
// before.
TEST(Pipeline, UnevenStagesFollowTheRecursion) {
  NetworkCosts network = equal_blocks(4, kForward, kBackward, {}, Bytes(1));
  const std::vector<double> factors = {1.0, 1.7, 0.6, 1.2};
  for (std::size_t i = 0; i < 4; ++i) {
    network.layers[i].forward.time = kForward * factors[i];
    network.layers[i].backward.time = kBackward * factors[i];
  }
  const Nanoseconds send(300);
  const TransferCosts links = exact_links(send, 1e30);
  constexpr std::size_t kMicroBatches = 6;
  std::vector<Nanoseconds> free(4);
  std::vector<Nanoseconds> link_free(4);
  std::vector<std::vector<Nanoseconds>> done(4, std::vector<Nanoseconds>(kMicroBatches));
  for (std::size_t m = 0; m < kMicroBatches; ++m) {
    Nanoseconds there;
    for (std::size_t s = 0; s < 4; ++s) {
      free[s] = std::max(free[s], there) + network.layers[s].forward.time;
      done[s][m] = free[s];
      there = std::max(free[s], link_free[s]) + send;
      link_free[s] = there;
    }
  }
  link_free.assign(4, {});
  Nanoseconds last;
  for (std::size_t m = 0; m < kMicroBatches; ++m) {
    Nanoseconds there;
    for (std::size_t s = 4; s-- > 0;) {
      free[s] = std::max(free[s], there) + network.layers[s].backward.time;
      there = std::max(free[s], link_free[s]) + send;
      link_free[s] = there;
      last = std::max(last, free[s]);
    }
  }
  const Job job{.network = network, .around = {.transfers = links}, .micro_batches = kMicroBatches};
  const Arrangement arrangement{
      .grid = {.pipeline = 4}, .schedule = Schedule::gpipe, .cut = StageCut::layers};
  EXPECT_NEAR(relative(length_of(step_of(job, arrangement)), last), 0.0, kExact);
}

TEST(Pipeline, AliveMicroBatchesFollowTheSchedule) {
  const auto alive = [](Schedule schedule, std::int64_t stage) {
    return alive_micro_batches({.schedule = schedule, .micro_batches = 16}, 4, stage).front();
  };
  EXPECT_EQ(alive(Schedule::gpipe, 0), 16);
  EXPECT_EQ(alive(Schedule::one_f_one_b, 0), 4);
  EXPECT_EQ(alive(Schedule::one_f_one_b, 3), 1);
  EXPECT_EQ(alive(Schedule::in_turn, 0), 1);
  const std::vector<std::int64_t> chunks =
      alive_micro_batches({.schedule = Schedule::interleaved, .chunks = 2, .micro_batches = 16}, 4, 0);
  EXPECT_EQ(chunks.front() + chunks.back(), 2 * 3 + 4 + 1);  // Megatron-LM's warm-up, and one more
}

TEST(Pipeline, ReplicasExchangeBehindTheirLastBackwardPass) {
  const NetworkCosts network = equal_blocks(4, kForward, kBackward, Bytes(1'000'000));
  const TransferCosts links = exact_links(Nanoseconds(700), 1e11);
  const Job job{.network = network, .around = {.transfers = links}, .micro_batches = 8};
  const Arrangement arrangement{.grid = {.data = 2, .pipeline = 2}};
  // The first stage ends last; its two layers have 2 MB of gradients, all of which is sent once by each of
  // two.
  const Nanoseconds exchange = Nanoseconds(700) + seconds(2e6 / 1e11);
  EXPECT_NEAR(
      relative(length_of(step_of(job, arrangement)), (kForward + kBackward) * (2.0 * (4 + 1)) + exchange),
      0.0, 1e-6);
}

TEST(Pipeline, RefusesWhatDoesNotDivide) {
  const NetworkCosts network = equal_blocks(8, kForward, kBackward);
  const TransferCosts none;
  const Job job{.network = network, .around = {.transfers = none}, .micro_batches = 6};
  EXPECT_THAT(problem_of(job, {.grid = {.pipeline = 4}, .schedule = Schedule::interleaved, .chunks = 2}),
              HasSubstr("multiple of its 4 stages"));
  EXPECT_THAT(problem_of(job, {.grid = {.data = 4, .pipeline = 2}}),
              HasSubstr("no equal part for each of 4"));
  EXPECT_THAT(problem_of(job, {.grid = {.pipeline = 16}}), HasSubstr("between 8 blocks"));
  EXPECT_EQ(problem_of(job, {.grid = {.pipeline = 4}}), "");
}

TEST(Stages, AreCutByLayersTimeOrMemory) {
  NetworkCosts network = equal_blocks(6, kForward, kBackward);
  network.layers[0].forward.time = kForward * 20.0;
  network.layers[5].weights = Bytes(1'000'000);
  using testing::ElementsAre;
  EXPECT_THAT(cut_into_stages(network, 2, StageCut::layers), ElementsAre(0, 3, 6));
  EXPECT_THAT(cut_into_stages(network, 2, StageCut::time), ElementsAre(0, 1, 6));
  EXPECT_THAT(cut_into_stages(network, 2, StageCut::memory), ElementsAre(0, 5, 6));
  // A block that is longer than all others by far does not make the rest uneven.
  NetworkCosts head = equal_blocks(9, kForward, kBackward);
  head.layers[8].forward.time = kForward * 20.0;
  EXPECT_THAT(cut_into_stages(head, 5, StageCut::time), ElementsAre(0, 2, 4, 6, 8, 9));
  // Each stage has a block, however small the rest is.
  EXPECT_THAT(cut_into_stages(network, 6, StageCut::time), ElementsAre(0, 1, 2, 3, 4, 5, 6));
}

}  // namespace
}  // namespace jitterscope::plan
