#include <gmock/gmock.h>

#include <algorithm>

#include "jitterscope/error.hpp"
#include "plan/forecast.hpp"
#include "plan/networks.hpp"

namespace jitterscope::plan {
namespace {

TEST(Forecast, SpeedsUpByWhatIsNotExposed) {
  const NetworkCosts network =
      equal_blocks(4, Nanoseconds(1'000'000), Nanoseconds(2'000'000), Bytes(1'000'000));
  const TransferCosts links = exact_links(Nanoseconds(0), 1e9);
  const Job job{.network = network, .around = {.transfers = links}, .micro_batches = 2};
  const Forecast result =
      forecast(job, {.grid = {.data = 2}, .way = {.exchange = GradientExchange::after_backward}});
  EXPECT_NEAR(relative(result.step, Nanoseconds(16'000'000)), 0.0, 1e-6);
  EXPECT_NEAR(result.speedup, 1.5, 1e-6);
  EXPECT_NEAR(result.samples_per_second, 8 / 16e-3, 1e-3);
  EXPECT_EQ(limit_of(result), Limit::exposed);
  EXPECT_FALSE(result.has_stated_network);
}

TEST(Forecast, IntervalIsThatOfTheCostsAndAStragglerAddsItsPart) {
  NetworkCosts network = equal_blocks(4, Nanoseconds(1'000'000), Nanoseconds(2'000'000));
  for (LayerCosts& layer : network.layers) {
    layer.forward.error = layer.forward.time * 0.01;
    layer.backward.error = layer.backward.time * 0.01;
  }
  const TransferCosts links = exact_links(Nanoseconds(0), 1e9);
  const Job job{.network = network, .around = {.transfers = links}, .micro_batches = 2};
  Forecast result = forecast(job, {.grid = {.data = 2}});
  add_uncertainty(result, job, {.straggler = 0.02, .draws = 2000});
  // All layers share their error: 1 % of the whole, as known from 2000 draws.
  EXPECT_NEAR((result.high - result.step) / result.step, 0.01, 0.001);
  ASSERT_TRUE(result.straggler_adds);
  EXPECT_NEAR(*result.straggler_adds / result.step, 0.02, 1e-9);
  Forecast again = forecast(job, {.grid = {.data = 2}});
  add_uncertainty(again, job, {.straggler = 0.02, .draws = 2000});
  EXPECT_EQ(again.low, result.low);
}

// Elsewhere it would hide in the bubble.
TEST(Forecast, AStragglerIsInTheStageThatComputesLongest) {
  NetworkCosts network = equal_blocks(4, Nanoseconds(1000), Nanoseconds(2000));
  network.layers[3].forward.time = Nanoseconds(2000);
  network.layers[3].backward.time = Nanoseconds(4000);
  const TransferCosts none;
  const Job job{.network = network, .around = {.transfers = none}, .micro_batches = 8};
  Forecast result = forecast(job, {.grid = {.pipeline = 4}});
  EXPECT_EQ(result.busiest_rank, 3);
  add_uncertainty(result, job, {.straggler = 0.1, .draws = 20});
  // Each of its 8 micro-batches takes 600 ns longer.
  EXPECT_NEAR(result.straggler_adds->value(), 4800, 1e-6);
}

TEST(Forecast, OneClassStandsForAllOfAnEqualFleet) {
  const NetworkCosts network =
      equal_blocks(96, Nanoseconds(1'000'000), Nanoseconds(2'000'000), Bytes(1'000'000), Bytes(1'000'000));
  MeasuredTransfers measured{.exchange = Exchange::all_reduce, .ranks = 8};
  measured.transfers = {{Bytes(1'000), {Nanoseconds(20'000), {}}},
                        {Bytes(1'000'000), {Nanoseconds(40'000), {}}}};
  const TransferCosts links({measured}, StatedNetwork{Nanoseconds(5000), 50e9});
  const Job job{.network = network, .around = {.transfers = links}, .micro_batches = 64 * 512};
  const StepPlan plan = step_of(job, {.grid = {.data = 512, .pipeline = 16}});
  EXPECT_EQ(plan.classes.size(), 16u);
  EXPECT_EQ(plan.classes.front().ranks, 512);
  // 64 micro-batches, forward and backward, with what they send and receive: no more than that.
  EXPECT_LT(plan.nodes.size(), 16u * 64 * 2 * 3 + 100);
  const SlowRank slow{4000, 1.02};
  const Nanoseconds even = length_of(plan),
                    held = length_of(step_of(job, {.grid = {.data = 512, .pipeline = 16}}, {&slow, 1}));
  EXPECT_GT(held / even, 1.01);
  EXPECT_LT(held / even, 1.02 + 1e-9);
}

// More micro-batches than are simulated.
TEST(Forecast, VeryManyMicroBatchesRepeatThemselves) {
  constexpr std::int64_t kMany = 6'002;
  const auto network_of = [](double unlike) {
    NetworkCosts network =
        equal_blocks(8, Nanoseconds(1000), Nanoseconds(2300), Bytes(1'000'000), Bytes(100'000));
    for (std::size_t i = 0; i < 8; ++i)
      network.layers[i].forward.time = Nanoseconds(1000.0 + unlike * static_cast<double>(i * 5 % 8));
    return network;
  };
  const TransferCosts links = exact_links(Nanoseconds(50), 1e12);
  const auto distance = [&](double unlike, const Arrangement& arrangement, std::int64_t micro_batches) {
    const NetworkCosts network = network_of(unlike);
    const Job job{.network = network, .around = {.transfers = links}, .micro_batches = micro_batches};
    const Forecast shorter = forecast(job, arrangement);
    EXPECT_NEAR(relative(shorter.busy + shorter.idle.sum(), shorter.step), 0.0, kExact);
    return std::abs(relative(shorter.step, length_of(step_of(job, arrangement))));
  };
  EXPECT_LT(distance(0.0, {.grid = {.pipeline = 4}}, kMany), kExact);
  EXPECT_LT(distance(130.0, {.grid = {.data = 2}}, kMany), kExact);
  // Stages of unlike lengths keep a cycle that is not the number of stages.
  EXPECT_LT(distance(130.0, {.grid = {.pipeline = 4}}, kMany), 1e-5);
  EXPECT_LT(
      distance(130.0, {.grid = {.pipeline = 4}, .schedule = Schedule::interleaved, .chunks = 2}, kMany + 2),
      1e-5);
}

TEST(Forecast, ArrangementsAreThoseThatArePossible) {
  const NetworkCosts network = equal_blocks(4, Nanoseconds(1), Nanoseconds(1), Bytes(10), Bytes(10));
  const TransferCosts links = exact_links(Nanoseconds(1), 1e9);
  const Job job{.network = network, .around = {.transfers = links}, .micro_batches = 8};
  const std::vector<Arrangement> all = arrangements_for(job, 8);
  EXPECT_TRUE(std::ranges::none_of(all, [](const Arrangement& each) { return each.grid.tensor > 1; }));
  EXPECT_TRUE(std::ranges::none_of(all, [](const Arrangement& each) { return each.grid.pipeline > 4; }));
  EXPECT_TRUE(std::ranges::any_of(all, [](const Arrangement& each) {
    return each.grid == RankGrid{.data = 4, .pipeline = 2} && each.schedule == Schedule::interleaved;
  }));
  // Four stages of one block each cannot be interleaved.
  EXPECT_TRUE(std::ranges::none_of(all, [](const Arrangement& each) {
    return each.grid.pipeline == 4 && each.schedule == Schedule::interleaved;
  }));
}

TEST(Forecast, WhatDoesNotFitIsAlsoTriedSmaller) {
  NetworkCosts network = equal_blocks(4, Nanoseconds(1), Nanoseconds(1), Bytes(1000), Bytes(10));
  const TransferCosts links = exact_links(Nanoseconds(1), 1e9);
  const auto shards = [&](Bytes memory) {
    const Job job{.network = network, .around = {.transfers = links}, .micro_batches = 8, .memory = memory};
    const std::vector<Arrangement> all = arrangements_for(job, 8);
    return std::ranges::count_if(all, [](const Arrangement& each) {
      return each.grid == RankGrid{.data = 4, .pipeline = 2} && each.way.sharding == Sharding::optimizer;
    });
  };
  EXPECT_EQ(shards(Bytes(1'000'000)), 0);
  EXPECT_GT(shards(Bytes(10'000)), 0);
}

}  // namespace
}  // namespace jitterscope::plan
