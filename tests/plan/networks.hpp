// Networks and links whose costs are round numbers.
#pragma once

#include <vector>

#include "plan/arrangement.hpp"
#include "plan/network_costs.hpp"
#include "plan/transfer_costs.hpp"

namespace jitterscope::plan {

/// Equal blocks of one layer each.
inline NetworkCosts equal_blocks(std::size_t blocks, Nanoseconds forward, Nanoseconds backward,
                                 Bytes weights = {}, Bytes output = {}) {
  NetworkCosts network{.name = "equal", .samples = 4};
  for (std::size_t i = 0; i < blocks; ++i)
    network.layers.push_back({.name = "layer",
                              .block = i,
                              .forward = {forward, {}},
                              .backward = {backward, {}},
                              .weights = weights,
                              .activations = Bytes(100),
                              .output = output});
  return network;
}

/// Every exchange takes `alpha` plus its sent bytes over `beta`, on one host.
inline TransferCosts exact_links(Nanoseconds alpha, double beta, std::int64_t ranks = 2) {
  std::vector<MeasuredTransfers> measured;
  for (const Exchange exchange :
       {Exchange::all_reduce, Exchange::reduce_scatter, Exchange::all_gather, Exchange::send}) {
    MeasuredTransfers each{.exchange = exchange, .ranks = ranks};
    // A size of next to nothing and one of a gigabyte: the line goes through all between.
    for (const std::int64_t bytes : {1, 1 << 30})
      each.transfers.push_back(
          {Bytes(bytes),
           {alpha + seconds(sent_share(exchange, ranks) * static_cast<double>(bytes) / beta), {}}});
    measured.push_back(each);
  }
  return {measured, std::nullopt};
}

inline double relative(Nanoseconds a, Nanoseconds b) { return a / b - 1.0; }
inline constexpr double kExact = 1e-9;

/// Of the links that tests have.
inline constexpr Nanoseconds kAlpha(20'000);
inline constexpr double kBeta = 331e9;  // bytes/s

}  // namespace jitterscope::plan
