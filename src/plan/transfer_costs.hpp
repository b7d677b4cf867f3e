// The time of an exchange between ranks: measured on one host, by latency and bandwidth between hosts.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "jitterscope/units.hpp"
#include "plan/network_costs.hpp"
#include "plan/step_plan.hpp"

namespace jitterscope::plan {

std::string_view to_string(Exchange);

/// Returns how many of the bytes each rank sends over its link.
double sent_share(Exchange exchange, std::int64_t ranks);

struct MeasuredTransfer {
  Bytes bytes;  ///< as nccl-tests count: of the larger buffer
  Cost cost;
};
/// One exchange between so many ranks of a host, by size.
struct MeasuredTransfers {
  Exchange exchange = Exchange::all_reduce;
  std::int64_t ranks = 2;
  std::vector<MeasuredTransfer> transfers = {};
};

/// time = alpha + sent bytes / beta, by least squares of relative distances.
struct AlphaBeta {
  Nanoseconds alpha;
  double beta = 0;      ///< bytes/s
  double distance = 0;  ///< the largest relative one of a measured time from the line
};
AlphaBeta fit_alpha_beta(const MeasuredTransfers& measured);

/// The network between hosts, as the user states it.
struct StatedNetwork {
  Nanoseconds alpha;  ///< for each doubling of the hosts
  double beta = 0;    ///< bytes/s of each GPU, in one direction
};

/// Members of a group, and on how many hosts they are.
struct GroupPlace {
  std::int64_t ranks = 1, hosts = 1;
  std::int64_t of_host() const { return (ranks + hosts - 1) / hosts; }
};
/// Returns where a group lies whose members are `stride` ranks apart; a host has `of_host` ranks.
GroupPlace place_of_group(std::int64_t ranks, std::int64_t stride, std::int64_t of_host);

class TransferCosts {
 public:
  TransferCosts() = default;
  TransferCosts(std::vector<MeasuredTransfers> measured, std::optional<StatedNetwork> network);

  /// Throws UsageError if nothing says what it costs. Between the sizes that were measured it lies on the
  /// line between the nearest two. For another number of ranks it is that of the size at which as many bytes
  /// are sent, and one latency more for each doubling. Across hosts each host first exchanges within itself,
  /// then each GPU its part with those of the other hosts.
  Cost cost(Exchange exchange, Bytes bytes, const GroupPlace& place) const;
  Nanoseconds time(Exchange exchange, Bytes bytes, const GroupPlace& place) const {
    return place.ranks < 2 || bytes.value() == 0 ? Nanoseconds(0)
                                                 : cost(exchange, bytes, place).at(deviations_);
  }
  /// The sum of the times of transfers one after the other.
  Nanoseconds time(std::span<const Transfer> transfers, const GroupPlace& place) const {
    Nanoseconds sum;
    for (const Transfer& each : transfers) sum += time(each.exchange, each.bytes, place);
    return sum;
  }
  /// The same, with all measured times at so many standard deviations from their estimates.
  TransferCosts drawn(double deviations) const;

  bool is_measured(Exchange exchange) const { return best(exchange, 2) != nullptr; }
  bool has_network() const { return network_.has_value(); }
  /// True if an exchange of this place takes its cost from what the user stated.
  bool is_stated(const GroupPlace& place) const { return place.hosts > 1 || measured_.empty(); }
  std::int64_t most_ranks_measured() const;

 private:
  const MeasuredTransfers* best(Exchange exchange, std::int64_t ranks) const;
  Cost within_host(Exchange exchange, Bytes bytes, std::int64_t ranks) const;
  Cost between_hosts(Exchange exchange, double bytes, std::int64_t hosts) const;

  std::vector<MeasuredTransfers> measured_;
  std::optional<StatedNetwork> network_;
  double deviations_ = 0.0;
};

}  // namespace jitterscope::plan
