// Step plans as the calls and collectives that a rank launches.
#include "model/native_step.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "jitterscope/error.hpp"
#include "model/cut_in_parts.hpp"
#include "model/named_models.hpp"
#include "plan/arrangement.hpp"

namespace jitterscope {
namespace {

using plan::GradientExchange;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

struct StepOf {
  explicit StepOf(const std::string& name, const std::string& options = "batch=2,dtype=f16")
      : model(*named_model(name, parse_model_options(options, name))), layers(step_layers(model)) {}

  ParallelStep step(const plan::Arrangement& arrangement) const {
    const plan::TransferCosts transfers({}, plan::StatedNetwork{microseconds(10), 1e11});
    const plan::Job job{.network = layers.network,
                        .around = {.transfers = transfers},
                        .micro_batches = arrangement.grid.data};
    return native_step(model, layers, plan::step_of(job, arrangement), 0, arrangement.grid.data, "step");
  }
  ParallelStep step(const plan::DataParallel& way, std::int64_t ranks = 2) const {
    return step({.grid = {.data = ranks}, .way = way});
  }
  std::size_t last_call_of(std::size_t layer) const { return std::ranges::max(layers.calls[layer].backward); }
  std::size_t first_call_of(std::size_t layer, plan::Phase phase) const {
    const LayerCalls& calls = layers.calls[layer];
    return std::ranges::min(phase == plan::Phase::forward ? calls.forward : calls.backward);
  }

  Model model;
  StepLayers layers;
};

const Collective& collective_of(const StepExchange& exchange) {
  return std::get<Collective>(exchange.collective.parameters());
}

std::int64_t bytes_of(const ParallelStep& step) {
  std::int64_t bytes = 0;
  for (const StepExchange& each : step.exchanges)
    bytes += collective_of(each).count * element_size(collective_of(each).dtype).value();
  return bytes;
}

TEST(NativeStep, WithoutAnExchangeIsTheNetwork) {
  const StepOf network("resnet18");
  const ParallelStep step = network.step({.exchange = GradientExchange::none});
  EXPECT_TRUE(step.exchanges.empty());
  EXPECT_EQ(step.launches(), network.model.calls.size());
  EXPECT_FALSE(runs_beside(step));
}

TEST(NativeStep, BehindBackwardAllGradientsAreReducedAtOnce) {
  const StepOf network("resnet18");
  const ParallelStep step = network.step({.exchange = GradientExchange::after_backward});
  ASSERT_EQ(step.exchanges.size(), 1u);
  EXPECT_EQ(step.exchanges[0].after, step.launches());
  EXPECT_EQ(step.exchanges[0].before, step.launches());
  EXPECT_EQ(collective_of(step.exchanges[0]).kind, CollectiveKind::all_reduce);
  EXPECT_EQ(collective_of(step.exchanges[0]).ranks, 2);
  EXPECT_EQ(bytes_of(step), plan::weights_of(network.layers.network).value());
  EXPECT_FALSE(runs_beside(step)) << "nothing is left to compute";
}

TEST(NativeStep, ABucketIsReducedOnceTheCallsOfItsLayersHaveEnded) {
  const StepOf network("resnet18");
  const Bytes size(5 << 20);
  const ParallelStep step = network.step({.exchange = GradientExchange::buckets, .bucket = size});
  const std::vector<plan::Bucket> buckets =
      plan::gradient_buckets(network.layers.network, size, plan::kFirstBucket);
  ASSERT_EQ(step.exchanges.size(), buckets.size());
  ASSERT_GT(buckets.size(), 3u);
  EXPECT_TRUE(runs_beside(step));
  std::size_t begun = 0;
  for (std::size_t b = 0; b < buckets.size(); ++b) {
    EXPECT_GT(step.exchanges[b].after, network.last_call_of(buckets[b].last_layer)) << b;
    EXPECT_GE(step.exchanges[b].after, begun) << b;
    EXPECT_EQ(step.exchanges[b].before, step.launches()) << "the step waits, no layer does";
    begun = step.exchanges[b].after;
  }
  EXPECT_LT(step.exchanges.front().after, step.launches() * 3 / 4) << "early in the backward pass";
  EXPECT_EQ(bytes_of(step), plan::weights_of(network.layers.network).value());
}

TEST(NativeStep, EveryFourthStepIsFourPassesAndOneExchange) {
  const StepOf network("resnet18");
  const ParallelStep step = network.step({.exchange = GradientExchange::after_backward, .every = 4});
  EXPECT_EQ(step.order.size(), 4u);
  EXPECT_EQ(step.launches(), 4 * network.model.calls.size());
  ASSERT_EQ(step.exchanges.size(), 1u);
  EXPECT_EQ(step.exchanges[0].after, step.launches());
}

TEST(NativeStep, ShardedWeightsAreGatheredBeforeTheirBlockComputes) {
  const StepOf network("gpt2", "batch=1,dtype=f16");
  const ParallelStep step = network.step({.sharding = plan::Sharding::parameters}, 4);
  const std::size_t blocks = network.layers.network.blocks();
  std::size_t gathered = 0, scattered = 0;
  for (const StepExchange& each : step.exchanges) {
    const CollectiveKind kind = collective_of(each).kind;
    gathered += kind == CollectiveKind::all_gather ? 1 : 0;
    scattered += kind == CollectiveKind::reduce_scatter ? 1 : 0;
    EXPECT_EQ(collective_of(each).count % 4, 0) << "a part for each rank";
    EXPECT_LE(each.after, each.before);
  }
  EXPECT_EQ(gathered, 2 * blocks) << "forward and back";
  EXPECT_EQ(scattered, blocks);
  // The first call of the second block waits for its weights, which are gathered beside the first one.
  std::size_t second = 0;
  while (network.layers.network.layers[second].block == 0) ++second;
  const std::size_t waits = network.first_call_of(second, plan::Phase::forward);
  EXPECT_TRUE(std::ranges::any_of(step.exchanges, [&](const StepExchange& each) {
    return each.before == waits && collective_of(each).kind == CollectiveKind::all_gather;
  }));
}

TEST(NativeStep, ALayerWithoutABackwardCallHandsOnWhatItWaitsFor) {
  // The first layer of a block backward is its residual sum, which has no call; the next one needs the
  // weights.
  const StepOf network("gpt2", "batch=1,dtype=f16,layers=3");
  const ParallelStep step = network.step({.sharding = plan::Sharding::parameters});
  for (const StepExchange& each : step.exchanges) {
    if (collective_of(each).kind == CollectiveKind::all_gather) {
      EXPECT_LT(each.before, step.launches()) << each.after;
    }
  }
}

TEST(NativeStep, PartsOfLayersAreExchangedBetweenTheirCalls) {
  const StepOf network("gpt2", "batch=1,dtype=f16,layers=3");
  constexpr std::int64_t kBlocks = 3, kActivations = 1024 * 768;
  for (const bool by_sequence : {false, true}) {
    const plan::TransferCosts transfers({}, plan::StatedNetwork{microseconds(10), 1e11});
    const plan::Job job{.network = network.layers.network, .around = {.transfers = transfers}};
    const plan::Arrangement arrangement{
        .grid = {.tensor = 2}, .way = {.exchange = GradientExchange::none}, .by_sequence = by_sequence};
    const ParallelStep step = native_step(cut_in_parts(network.model, network.layers, 2, by_sequence),
                                          network.layers, plan::step_of(job, arrangement), 0, 2, "step");
    EXPECT_EQ(step.launches(), network.model.calls.size());
    EXPECT_FALSE(runs_beside(step)) << "the next call needs it";
    std::map<CollectiveKind, std::int64_t> counts;
    for (const StepExchange& each : step.exchanges) {
      ++counts[collective_of(each).kind];
      if (collective_of(each).kind != CollectiveKind::all_reduce || !by_sequence) {
        EXPECT_EQ(collective_of(each).count, kActivations);
      }
    }
    if (by_sequence) {
      // Also for the head and for the embedding's gradient; and the gradients of the norms' weights are
      // summed.
      EXPECT_EQ(counts[CollectiveKind::reduce_scatter], 4 * kBlocks);
      EXPECT_EQ(counts[CollectiveKind::all_gather], 4 * kBlocks + 2);
      EXPECT_EQ(counts[CollectiveKind::all_reduce], 1);
      EXPECT_EQ(collective_of(step.exchanges.back()).count, kBlocks * 2 * 2 * 768);
    } else {
      EXPECT_EQ(counts[CollectiveKind::all_reduce], 4 * kBlocks);
      EXPECT_EQ(step.exchanges.size(), 4u * kBlocks);
    }
  }
}

TEST(NativeStep, CountsThatHaveNoEqualPartArePadded) {
  const StepOf network("resnet18");
  const ParallelStep step = network.step({.exchange = GradientExchange::scatter_gather}, 7);
  ASSERT_EQ(step.exchanges.size(), 2u);
  const std::int64_t weights = plan::weights_of(network.layers.network).value() / 2;
  for (const StepExchange& each : step.exchanges) {
    EXPECT_EQ(collective_of(each).count % 7, 0);
    EXPECT_LT(collective_of(each).count - weights, 7);
  }
}

TEST(NativeStep, ARankOfAPipelineRunsItsStagesInTheOrderOfItsPasses) {
  const StepOf network("resnet18");
  const plan::TransferCosts transfers({}, plan::StatedNetwork{microseconds(10), 1e11});
  constexpr std::int64_t kRanks = 3, kMicroBatches = 4;
  const plan::StepPlan plan =
      plan::step_of({.network = network.layers.network,
                     .around = {.transfers = transfers, .gpus_per_host = 1},
                     .micro_batches = kMicroBatches},
                    {.grid = {.pipeline = kRanks}, .way = {.exchange = GradientExchange::none}});
  std::vector<ParallelStep> steps;
  std::multiset<std::size_t> launched;
  for (std::size_t rank = 0; rank < kRanks; ++rank) {
    steps.push_back(native_step(network.model, network.layers, plan, rank, kRanks, "step"));
    const std::vector<std::size_t> calls = steps.back().calls();
    launched.insert(calls.begin(), calls.end());
  }
  for (std::size_t call = 0; call < network.model.calls.size(); ++call)
    EXPECT_EQ(launched.count(call), kMicroBatches) << network.model.calls[call].name;
  // All launch the same sends: of each micro-batch over each cut, there and back.
  ASSERT_EQ(steps[0].exchanges.size(), 2u * (kRanks - 1) * kMicroBatches);
  for (std::size_t e = 0; e < steps[0].exchanges.size(); ++e) {
    const Collective& send = collective_of(steps[0].exchanges[e]);
    EXPECT_EQ(send.kind, CollectiveKind::send);
    EXPECT_EQ(std::abs(send.root - send.to), 1);
    for (const ParallelStep& step : steps)
      EXPECT_EQ(step.exchanges[e].collective, steps[0].exchanges[e].collective);
  }
  // The second rank's first launch waits for what the first sends first, and for nothing of the third.
  EXPECT_EQ(collective_of(steps[1].exchanges[0]).root, 0);
  EXPECT_EQ(steps[1].exchanges[0].after, 0u);
  EXPECT_EQ(steps[1].exchanges[0].before, 0u);
  EXPECT_EQ(steps[2].exchanges[0].before, steps[2].launches()) << "between two others";
  // What the last rank sends back first, it sends after its forward and backward passes of one micro-batch.
  const auto back = std::ranges::find_if(
      steps[2].exchanges, [](const StepExchange& each) { return collective_of(each).root == 2; });
  EXPECT_EQ(back->after, steps[2].launches() / kMicroBatches);
}

TEST(NativeStep, WhatHasNoOperationYetIsRefused) {
  const StepOf network("resnet18", "batch=2,dtype=f32");
  EXPECT_THAT([&] { network.step({.grid = {.data = 2, .pipeline = 2}}); },
              ThrowsMessage<UsageError>(HasSubstr("leave replicas and parts out of the pipeline")));
  StepOf copies = network;
  copies.layers.network.copy_rate = 1e12;
  EXPECT_THAT([&] { copies.step({.exchange = GradientExchange::after_backward, .compressed = true}); },
              ThrowsMessage<UsageError>(HasSubstr("leave the compression out")));
}

TEST(ParallelSteps, ExchangesThatAreOutOfOrderOrBeyondTheStepAreRefused) {
  const StepOf network("resnet18");
  ParallelStep step = network.step({.exchange = GradientExchange::buckets, .bucket = Bytes(5 << 20)});
  ParallelStep swapped = step;
  std::swap(swapped.exchanges.front(), swapped.exchanges.back());
  EXPECT_THAT([&] { check_step(swapped); },
              ThrowsMessage<UsageError>(HasSubstr("begins before the exchange in front of it")));
  step.exchanges.back().before = step.launches() + 1;
  EXPECT_THROW(check_step(step), UsageError);
  EXPECT_THROW(check_step({.name = "empty", .network = {}}), UsageError);
  EXPECT_THROW(
      check_step(
          {.name = "no collective", .network = {}, .exchanges = {{Operation::parse("add:count=1Ki"), 0, 0}}}),
      UsageError);
}

TEST(TimedInSequence, SumsTheCallsOfALayerAndMissesNone) {
  const StepOf network("resnet18");
  SequenceMeasurement sequence;
  for (const Call& call : network.model.calls)
    sequence.calls.push_back(
        {call.name, call.layer, {microseconds(2), microseconds(1.9), microseconds(2.1), 9}});
  const plan::NetworkCosts timed = timed_in_sequence(network.layers, sequence);
  const Nanoseconds sum = plan::forward_of(timed).time + plan::backward_of(timed).time;
  EXPECT_NEAR(sum.value(), 2e3 * static_cast<double>(network.model.calls.size()), 1.0);
  sequence.calls.back().time = {};
  EXPECT_THAT([&] { timed_in_sequence(network.layers, sequence); },
              ThrowsMessage<FailedError>(HasSubstr(network.model.calls.back().name)));
}

}  // namespace
}  // namespace jitterscope
