#include <gmock/gmock.h>

#include "jitterscope/error.hpp"
#include "plan/arrangement.hpp"
#include "plan/networks.hpp"

namespace jitterscope::plan {
namespace {

using testing::HasSubstr;

constexpr std::int64_t kNormWeights = 96;

// A transformer: in each block a norm, two pairs of products with an all-reduce behind each pair.
NetworkCosts transformer(std::size_t blocks) {
  NetworkCosts network{.name = "transformer", .samples = 4, .heads = 12};
  const Bytes reduced(4'000'000);
  for (std::size_t b = 0; b < blocks; ++b) {
    network.layers.push_back({.name = "norm",
                              .block = b,
                              .forward = {Nanoseconds(600), {}},
                              .backward = {Nanoseconds(900), {}},
                              .weights = Bytes(kNormWeights),
                              .activations = Bytes(960),
                              .follows_sequence = true});
    for (int pair = 0; pair < 2; ++pair) {
      network.layers.push_back({.name = "columns",
                                .block = b,
                                .forward = {Nanoseconds(24'000), {}},
                                .backward = {Nanoseconds(48'000), {}},
                                .weights = Bytes(9600),
                                .activations = Bytes(9600),
                                .is_split = true,
                                .reduced_backward = reduced});
      network.layers.push_back({.name = "rows",
                                .block = b,
                                .forward = {Nanoseconds(12'000), {}},
                                .backward = {Nanoseconds(24'000), {}},
                                .weights = Bytes(4800),
                                .activations = Bytes(4800),
                                .output = Bytes(pair == 1 ? 4'000'000 : 0),
                                .is_split = true,
                                .reduced_forward = reduced});
    }
  }
  return network;
}

TEST(TensorParallel, IsTheSumOfPartsAndAllReduces) {
  const NetworkCosts network = transformer(3);
  for (const std::int64_t ranks : {2, 4}) {
    const TransferCosts links = exact_links(kAlpha, kBeta, ranks);
    const Job job{.network = network, .around = {.transfers = links}, .micro_batches = 2};
    const auto n = static_cast<double>(ranks);
    const Nanoseconds reduce = links.time(Exchange::all_reduce, Bytes(4'000'000), {ranks, 1});
    const Nanoseconds products = Nanoseconds(2 * 36'000 + 2 * 72'000), norm(1500);
    const Nanoseconds block = products / n + norm + reduce * 4.0;
    const SimulatedStep step = simulate(step_of(job, {.grid = {.tensor = ranks}}));
    EXPECT_NEAR(relative(step.length, block * 3.0 * 2.0), 0.0, kExact);
    EXPECT_NEAR(relative(step.classes[0].idle.exposed, reduce * 4.0 * 3.0 * 2.0), 0.0, kExact);
    // By the sequence the norm is cut, too, and each all-reduce is its two halves. Each rank has a part of
    // the sums that are the gradients of the norms' weights.
    const Nanoseconds sums = links.time(Exchange::all_reduce, Bytes(3 * kNormWeights), {ranks, 1});
    const Nanoseconds halves = links.time(Exchange::reduce_scatter, Bytes(4'000'000), {ranks, 1}) +
                               links.time(Exchange::all_gather, Bytes(4'000'000), {ranks, 1});
    const Nanoseconds cut = products / n + norm / n + halves * 4.0;
    EXPECT_NEAR(relative(length_of(step_of(job, {.grid = {.tensor = ranks}, .by_sequence = true})),
                         cut * 3.0 * 2.0 + sums),
                0.0, kExact);
  }
}

// An embedding and a head, which each rank computes whole.
NetworkCosts with_ends(NetworkCosts network) {
  const Cost time{Nanoseconds(5000), {}};
  const Bytes activations(4'000'000);
  network.layers.insert(network.layers.begin(), {.name = "embedding",
                                                 .forward = time,
                                                 .backward = time,
                                                 .weights = Bytes(7),
                                                 .gathered_backward = activations});
  network.layers.push_back({.name = "head",
                            .block = network.layers.back().block,
                            .forward = time,
                            .backward = time,
                            .weights = Bytes(9),
                            .gathered_forward = activations});
  return network;
}

TEST(TensorParallel, WhatLiesOutsideOfTheBlocksIsWholeAndGatheredFor) {
  const NetworkCosts inner = transformer(2), network = with_ends(inner);
  const TransferCosts links = exact_links(kAlpha, kBeta);
  const Job job{.network = network, .around = {.transfers = links}},
      within{.network = inner, .around = {.transfers = links}};
  const Nanoseconds ends(20'000), gather = links.time(Exchange::all_gather, Bytes(4'000'000), {2, 1});
  const Arrangement cut{.grid = {.tensor = 2}}, by_sequence{.grid = {.tensor = 2}, .by_sequence = true};
  EXPECT_NEAR(relative(length_of(step_of(job, cut)), length_of(step_of(within, cut)) + ends), 0.0, kExact);
  EXPECT_NEAR(relative(length_of(step_of(job, by_sequence)),
                       length_of(step_of(within, by_sequence)) + ends + gather * 2.0),
              0.0, kExact);
}

TEST(TensorParallel, WaitsForTheSlowestInEachPart) {
  const NetworkCosts network = transformer(2);
  const TransferCosts links = exact_links(kAlpha, kBeta);
  const Job job{.network = network, .around = {.transfers = links}};
  const SlowRank slow{1, 1.1};
  const SimulatedStep even = simulate(step_of(job, {.grid = {.tensor = 2}}));
  const SimulatedStep step = simulate(step_of(job, {.grid = {.tensor = 2}}, {&slow, 1}));
  EXPECT_NEAR(relative(step.length - even.length, even.classes[0].busy * 0.1), 0.0, 1e-7);
  EXPECT_NEAR(relative(step.classes[0].idle.straggler, even.classes[0].busy * 0.1), 0.0, 1e-7);
}

TEST(TensorParallel, InAPipelineIsTheSameForOneStage) {
  const NetworkCosts network = with_ends(transformer(4));
  const TransferCosts links = exact_links(kAlpha, kBeta);
  const Job job{.network = network, .around = {.transfers = links}, .micro_batches = 3};
  for (const bool by_sequence : {false, true}) {
    const Nanoseconds whole = length_of(step_of(job, {.grid = {.tensor = 2}, .by_sequence = by_sequence}));
    const NetworkCosts parts = split_in_parts(network, 2, by_sequence);
    const std::vector<std::size_t> cut = cut_into_stages(parts, 1, StageCut::layers);
    const std::vector<StageCosts> stages = stages_of(parts, cut);
    const StepPlan plan = pipeline_step(stages, {.tensor = 2}, {.micro_batches = 3},
                                        {.exchange = GradientExchange::none}, by_sequence, job.around);
    EXPECT_NEAR(relative(length_of(plan), whole), 0.0, kExact) << by_sequence;
  }
}

TEST(TensorParallel, HalvesWhatARankHolds) {
  const NetworkCosts network = transformer(2);
  const TransferCosts links = exact_links(kAlpha, kBeta);
  const Job job{.network = network, .around = {.transfers = links}};
  const PeakMemory memory = memory_of(job, {.grid = {.tensor = 2}});
  EXPECT_EQ(memory.weights, Bytes(2 * (96 + 2 * (4800 + 2400))));
  EXPECT_EQ(memory.activations, Bytes(2 * (960 + 2 * (4800 + 2400))));
  // By the sequence the norm's part, too, and what was gathered for the products beside the own part of it.
  EXPECT_EQ(memory_of(job, {.grid = {.tensor = 2}, .by_sequence = true}).activations,
            Bytes(2 * (480 + 2 * (4800 + 2400) + 2 * 2'000'000)));
}

TEST(TensorParallel, RefusesHeadsThatCannotBeDealtOut) {
  const NetworkCosts network = transformer(2);
  const TransferCosts links;
  const Job job{.network = network, .around = {.transfers = links}};
  EXPECT_THAT(problem_of(job, {.grid = {.tensor = 8}}), HasSubstr("12 heads"));
  const NetworkCosts other = equal_blocks(2, Nanoseconds(1), Nanoseconds(1));
  const Job no_heads{.network = other, .around = {.transfers = links}};
  EXPECT_THAT(problem_of(no_heads, {.grid = {.tensor = 2}}), HasSubstr("no attention"));
}

}  // namespace
}  // namespace jitterscope::plan
