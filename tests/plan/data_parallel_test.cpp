#include <gmock/gmock.h>

#include "jitterscope/error.hpp"
#include "plan/arrangement.hpp"
#include "plan/networks.hpp"

namespace jitterscope::plan {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Ten layers of unlike sizes and times.
NetworkCosts unlike_layers() {
  NetworkCosts network{.name = "unlike", .samples = 8, .element_bytes = 4};
  for (std::size_t i = 0; i < 10; ++i) {
    const auto number = static_cast<double>(i + 1);
    network.layers.push_back({.name = "layer",
                              .block = i,
                              .forward = {Nanoseconds(10'000 + 700 * number), {}},
                              .backward = {Nanoseconds(23'000 + 900 * number), {}},
                              .weights = Bytes(static_cast<std::int64_t>(i * i + 1) * 300'000),
                              .activations = Bytes(1000)});
  }
  return network;
}

struct Setting {
  NetworkCosts network = unlike_layers();
  TransferCosts links = exact_links(kAlpha, kBeta);
  Nanoseconds computing = forward_of(network).time + backward_of(network).time;
  Job job(std::int64_t micro_batches = 2) const {
    return {.network = network, .around = {.transfers = links}, .micro_batches = micro_batches};
  }
  Nanoseconds all_reduce(Bytes bytes) const { return links.time(Exchange::all_reduce, bytes, {2, 1}); }
};

SimulatedStep simulated(const Setting& setting, const DataParallel& way) {
  return simulate(step_of(setting.job(), {.grid = {.data = 2}, .way = way}));
}

TEST(DataParallel, WithoutAnExchangeIsComputingAlone) {
  const Setting setting;
  const SimulatedStep step = simulated(setting, {.exchange = GradientExchange::none});
  EXPECT_NEAR(relative(step.length, setting.computing), 0.0, kExact);
  EXPECT_EQ(step.classes[0].communication, Nanoseconds(0));
}

TEST(DataParallel, BehindBackwardIsComputingPlusTheAllReduce) {
  const Setting setting;
  const SimulatedStep step = simulated(setting, {.exchange = GradientExchange::after_backward});
  const Nanoseconds exchange = setting.all_reduce(weights_of(setting.network));
  EXPECT_NEAR(relative(step.length, setting.computing + exchange), 0.0, kExact);
  EXPECT_NEAR(relative(step.classes[0].idle.exposed, exchange), 0.0, kExact);
}

TEST(DataParallel, ReduceScatterAndAllGatherPayTheLatencyTwice) {
  const Setting setting;
  const Nanoseconds length = simulated(setting, {.exchange = GradientExchange::scatter_gather}).length;
  const Nanoseconds exchange = setting.all_reduce(weights_of(setting.network));
  EXPECT_NEAR(relative(length, setting.computing + exchange + kAlpha), 0.0, 1e-6);
}

// An exchange begins with the bucket's last gradient, or once the one before is over.
TEST(DataParallel, BucketsExposeWhatTheRecursionSays) {
  const Setting setting;
  for (const std::int64_t mebi : {1, 5, 25, 400}) {
    const Bytes size(mebi * kMebi);
    const SimulatedStep step = simulated(setting, {.exchange = GradientExchange::buckets, .bucket = size});
    Nanoseconds now = forward_of(setting.network).time, link_free;
    Bytes open;
    bool is_first = true;
    for (std::size_t l = setting.network.layers.size(); l-- > 0;) {
      now += setting.network.layers[l].backward.time;
      open += setting.network.layers[l].weights;
      const Bytes limit = is_first ? std::min(size, Bytes(kMebi)) : size;
      if (open < limit && l > 0) continue;
      link_free = std::max(link_free, now) + setting.all_reduce(open);
      open = {};
      is_first = false;
    }
    EXPECT_NEAR(relative(step.length, std::max(link_free, now)), 0.0, kExact) << mebi;
    EXPECT_NEAR((step.classes[0].idle.exposed - (step.length - setting.computing)).value(), 0.0, 1e-3)
        << mebi;
  }
}

TEST(DataParallel, BucketsBeginWithTheLastLayersAndTheFirstIsSmall) {
  NetworkCosts network = equal_blocks(6, Nanoseconds(1), Nanoseconds(1), Bytes(kMebi));
  network.layers[2].weights = {};
  std::vector<std::int64_t> sizes;
  std::vector<std::size_t> layers;
  for (const Bucket& bucket : gradient_buckets(network, Bytes(2 * kMebi), kFirstBucket)) {
    sizes.push_back(bucket.bytes.value() / kMebi);
    layers.push_back(bucket.last_layer);
  }
  EXPECT_THAT(sizes, ElementsAre(1, 2, 2));
  EXPECT_THAT(layers, ElementsAre(5, 3, 0));
}

TEST(DataParallel, EveryKthStepSharesTheExchange) {
  const Setting setting;
  const StepPlan plan =
      step_of(setting.job(),
              {.grid = {.data = 2}, .way = {.exchange = GradientExchange::after_backward, .every = 4}});
  const Nanoseconds exchange = setting.all_reduce(weights_of(setting.network));
  EXPECT_EQ(plan.steps, 4);
  EXPECT_NEAR(relative(length_of(plan), setting.computing * 4.0 + exchange), 0.0, kExact);
}

TEST(DataParallel, CompressedGradientsAreHalfAsLarge) {
  const Setting setting;
  const SimulatedStep step =
      simulated(setting, {.exchange = GradientExchange::after_backward, .compressed = true});
  const Bytes half(weights_of(setting.network).value() / 2);
  EXPECT_NEAR(relative(step.length, setting.computing + setting.all_reduce(half)), 0.0, kExact);
}

// Half of the bytes, but gradients are read and written once in each size on both sides of the exchange.
TEST(DataParallel, CompressionTakesMemorysTime) {
  Setting setting;
  setting.network.copy_rate = 4e12;
  const SimulatedStep step =
      simulated(setting, {.exchange = GradientExchange::after_backward, .compressed = true});
  const Bytes weights = weights_of(setting.network);
  const Nanoseconds converting = seconds(2.0 * 1.5 * static_cast<double>(weights.value()) / 4e12);
  EXPECT_NEAR(
      relative(step.length, setting.computing + setting.all_reduce(Bytes(weights.value() / 2)) + converting),
      0.0, kExact);
}

TEST(DataParallel, MicroBatchesAreAddedUpAndExchangedOnce) {
  const Setting setting;
  const StepPlan plan =
      step_of(setting.job(6), {.grid = {.data = 2}, .way = {.exchange = GradientExchange::after_backward}});
  EXPECT_NEAR(
      relative(length_of(plan), setting.computing * 3.0 + setting.all_reduce(weights_of(setting.network))),
      0.0, kExact);
}

TEST(DataParallel, AStragglerHoldsAllOthersByItsShare) {
  const Setting setting;
  const SlowRank slow{1, 1.02};
  const StepPlan plan =
      step_of(setting.job(), {.grid = {.data = 2}, .way = {.exchange = GradientExchange::after_backward}},
              {&slow, 1});
  const SimulatedStep step = simulate(plan);
  const Nanoseconds exchange = setting.all_reduce(weights_of(setting.network));
  EXPECT_NEAR(relative(step.length, setting.computing * 1.02 + exchange), 0.0, kExact);
  ASSERT_EQ(plan.classes.size(), 2u);
  EXPECT_NEAR(relative(step.classes[0].idle.straggler, setting.computing * 0.02), 0.0, 1e-7);
  EXPECT_NEAR(step.classes[1].idle.straggler.value(), 0.0, 1e-6);
}

TEST(DataParallel, SamplesBySpeedMakeAllEndAtOnce) {
  const std::vector<double> factors = {1.0, 1.0, 2.0, 1.0};
  const std::vector<std::int64_t> samples = samples_by_speed(28, factors);
  EXPECT_THAT(samples, ElementsAre(8, 8, 4, 8));
  const Setting setting;
  const std::vector<SlowRank> even = {{2, 2.0}};
  const std::vector<SlowRank> dealt = slow_ranks(samples, 7.0, factors);
  const Job job = setting.job(4);
  const Arrangement arrangement{.grid = {.data = 4}, .way = {.exchange = GradientExchange::none}};
  EXPECT_NEAR(relative(length_of(step_of(job, arrangement, even)), setting.computing * 2.0), 0.0, kExact);
  // t = max of n·tau.
  EXPECT_NEAR(relative(length_of(step_of(job, arrangement, dealt)), setting.computing * (8.0 / 7.0)), 0.0,
              kExact);
}

TEST(Sharding, CountsBytesOfARankAndWhatIsExchanged) {
  NetworkCosts network = equal_blocks(4, Nanoseconds(1), Nanoseconds(1), Bytes(2'000'000));
  network.element_bytes = 2;
  network.optimizer_bytes = 12;
  const Bytes weights = weights_of(network);
  const auto state = [&](Sharding sharding) { return state_of(weights, network, sharding, 4); };
  EXPECT_EQ(state(Sharding::none).sum(), Bytes(8'000'000 * (1 + 1 + 6)));
  EXPECT_EQ(state(Sharding::optimizer).sum(), Bytes(8'000'000 * 2 + 12'000'000));
  EXPECT_EQ(state(Sharding::gradients).sum(), Bytes(8'000'000 + 2'000'000 + 12'000'000));
  EXPECT_EQ(state(Sharding::parameters).sum(), Bytes(2'000'000 + 2'000'000 + 12'000'000));
  EXPECT_EQ(traffic_of(weights, Sharding::none, 3).all_reduced, weights);
  EXPECT_EQ(traffic_of(weights, Sharding::gradients, 3).all_gathered, weights);
  EXPECT_EQ(traffic_of(weights, Sharding::parameters, 3).all_gathered, weights * 6);
}

TEST(Sharding, PlansExchangeWhatTheTrafficSays) {
  const NetworkCosts network = equal_blocks(4, Nanoseconds(1), Nanoseconds(1), Bytes(2'000'000));
  const TransferCosts links = exact_links(Nanoseconds(0), 1e9);
  const Job job{.network = network, .around = {.transfers = links}, .micro_batches = 2};
  for (const Sharding sharding :
       {Sharding::none, Sharding::optimizer, Sharding::gradients, Sharding::parameters}) {
    const ShardingTraffic traffic = traffic_of(weights_of(network), sharding, 1);
    const SimulatedStep step = simulate(step_of(job, {.grid = {.data = 2}, .way = {.sharding = sharding}}));
    const double sent = static_cast<double>(traffic.all_reduced.value()) +
                        0.5 * static_cast<double>((traffic.reduce_scattered + traffic.all_gathered).value());
    EXPECT_NEAR(relative(step.classes[0].communication, seconds(sent / 1e9)), 0.0, 1e-6)
        << to_string(sharding);
  }
}

// With links that are fast enough, weights are gathered behind the block before.
TEST(Sharding, WeightsAreGatheredAheadOfTheirBlock) {
  const NetworkCosts network = equal_blocks(6, Nanoseconds(1000), Nanoseconds(2000), Bytes(1'000'000));
  const TransferCosts links = exact_links(Nanoseconds(0), 1e12);  // 500 ns for a block
  const Job job{.network = network, .around = {.transfers = links}, .micro_batches = 2};
  const SimulatedStep step =
      simulate(step_of(job, {.grid = {.data = 2}, .way = {.sharding = Sharding::parameters}}));
  // Exposed are the first gathering of each pass, and the last scattering.
  EXPECT_NEAR(step.length.value(), 6 * 3000 + 3 * 500, 1.0);
}

TEST(Sharding, IsRefusedWhereNothingIsExchanged) {
  const Setting setting;
  EXPECT_THROW(
      step_of(setting.job(), {.grid = {.data = 2}, .way = {.every = 2, .sharding = Sharding::optimizer}}),
      UsageError);
  EXPECT_THAT(problem_of(setting.job(3), {.grid = {.data = 2}}),
              HasSubstr("3 micro-batches have no equal part"));
}

}  // namespace
}  // namespace jitterscope::plan
