#include <gmock/gmock.h>

#include "jitterscope/error.hpp"
#include "plan/networks.hpp"

namespace jitterscope::plan {
namespace {

TEST(TransferCosts, TheFitFindsLatencyAndBandwidth) {
  MeasuredTransfers measured{.exchange = Exchange::all_reduce, .ranks = 4};
  for (const double bytes : {4e3, 64e3, 1e6, 16e6, 256e6})
    measured.transfers.push_back(
        {Bytes(static_cast<std::int64_t>(bytes)), {kAlpha + seconds(1.5 * bytes / kBeta), {}}});
  const AlphaBeta fit = fit_alpha_beta(measured);
  EXPECT_NEAR(relative(fit.alpha, kAlpha), 0.0, 1e-9);
  EXPECT_NEAR(fit.beta / kBeta, 1.0, 1e-9);
  EXPECT_NEAR(fit.distance, 0.0, 1e-9);
  measured.transfers[2].cost.time = measured.transfers[2].cost.time * 1.1;
  EXPECT_GT(fit_alpha_beta(measured).distance, 0.03);
}

TEST(TransferCosts, AMeasuredSizeKeepsItsTimeAndError) {
  MeasuredTransfers measured{.exchange = Exchange::all_reduce, .ranks = 2};
  measured.transfers = {{Bytes(1000), {Nanoseconds(50), Nanoseconds(1)}},
                        {Bytes(2000), {Nanoseconds(80), Nanoseconds(2)}},
                        {Bytes(4000), {Nanoseconds(180), Nanoseconds(9)}}};
  const TransferCosts costs({measured}, std::nullopt);
  const auto at = [&](std::int64_t bytes) { return costs.cost(Exchange::all_reduce, Bytes(bytes), {2, 1}); };
  EXPECT_EQ(at(2000).time, Nanoseconds(80));
  EXPECT_EQ(at(2000).error, Nanoseconds(2));
  EXPECT_EQ(at(3000).time, Nanoseconds(130));
  EXPECT_EQ(at(10).time, Nanoseconds(50));
  EXPECT_EQ(at(8000).time, Nanoseconds(380));
  EXPECT_EQ(at(8000).error, Nanoseconds(19));  // 5 %, as of the largest
}

// A rank sends 2 (n - 1) / n of an all-reduce, in twice as many steps for twice as many ranks.
TEST(TransferCosts, MoreRanksSendMoreAndTakeALatencyForEachDoubling) {
  const TransferCosts costs = exact_links(kAlpha, kBeta);
  const Bytes bytes(100'000'000);
  EXPECT_NEAR(
      relative(costs.cost(Exchange::all_reduce, bytes, {8, 1}).time, kAlpha * 3.0 + seconds(1.75e8 / kBeta)),
      0.0, 1e-6);
}

TEST(TransferCosts, HostsExchangeWhatEachOfTheirGpusHas) {
  MeasuredTransfers measured{.exchange = Exchange::all_reduce, .ranks = 8};
  measured.transfers = {{Bytes(1'000'000), {Nanoseconds(30'000), {}}},
                        {Bytes(2'000'000), {Nanoseconds(40'000), {}}}};
  const TransferCosts costs({measured}, StatedNetwork{Nanoseconds(5000), 50e9});
  const Nanoseconds time = costs.time(Exchange::all_reduce, Bytes(2'000'000), {32, 4});
  EXPECT_NEAR(relative(time, Nanoseconds(40'000) + Nanoseconds(5000 * 2 * 2) + seconds(1.5 * 250'000 / 50e9)),
              0.0, kExact);
  EXPECT_NEAR(
      relative(costs.time(Exchange::send, Bytes(1'000'000), {2, 2}), Nanoseconds(5000) + seconds(1e6 / 50e9)),
      0.0, kExact);
  // One of each host: nothing is exchanged within.
  EXPECT_NEAR(relative(costs.time(Exchange::all_reduce, Bytes(1'000'000), {2, 2}),
                       Nanoseconds(5000 * 2) + seconds(1e6 / 50e9)),
              0.0, kExact);
}

TEST(TransferCosts, WhatLiesBetweenHostsMustBeStated) {
  const TransferCosts costs = exact_links(kAlpha, kBeta);
  EXPECT_THROW(costs.time(Exchange::all_reduce, Bytes(1000), {16, 2}), UsageError);
}

TEST(TransferCosts, GroupsLieOnAsManyHostsAsTheirStrideSays) {
  EXPECT_EQ(place_of_group(8, 1, 8).hosts, 1);
  EXPECT_EQ(place_of_group(64, 1, 8).hosts, 8);
  EXPECT_EQ(place_of_group(16, 8, 8).hosts, 16);
  EXPECT_EQ(place_of_group(16, 2, 8).hosts, 4);
  EXPECT_EQ(place_of_group(2, 2, 8).hosts, 1);
}

TEST(TransferCosts, DrawsMoveMeasuredTimesByTheirErrors) {
  MeasuredTransfers measured{.exchange = Exchange::all_reduce, .ranks = 2};
  measured.transfers = {{Bytes(1000), {Nanoseconds(100), Nanoseconds(1.959964)}}};
  const TransferCosts costs({measured}, std::nullopt);
  EXPECT_NEAR(costs.drawn(2.0).time(Exchange::all_reduce, Bytes(1000), {2, 1}).value(), 102.0, 1e-9);
  EXPECT_NEAR(costs.drawn(-1.0).time(Exchange::all_reduce, Bytes(1000), {2, 1}).value(), 99.0, 1e-9);
}

}  // namespace
}  // namespace jitterscope::plan
