#include "plan/transfer_costs.hpp"

#include <algorithm>
#include <cmath>

#include "jitterscope/error.hpp"

namespace jitterscope::plan {
namespace {

double doublings(std::int64_t count) {
  return std::ceil(std::log2(static_cast<double>(std::max<std::int64_t>(count, 1))));
}

// On the line through the nearest two sizes; below the smallest, by latency and bandwidth of all.
Cost interpolated(const MeasuredTransfers& measured, double bytes) {
  const std::vector<MeasuredTransfer>& all = measured.transfers;
  const auto size_of = [](const MeasuredTransfer& each) { return static_cast<double>(each.bytes.value()); };
  if (all.size() == 1)
    return {all.front().cost.time * std::max(1.0, bytes / size_of(all.front())), all.front().cost.error};
  const auto next =
      std::ranges::find_if(all, [&](const MeasuredTransfer& each) { return size_of(each) >= bytes; });
  if (next == all.begin()) return all.front().cost;  // latency: smaller sizes take no less
  const MeasuredTransfer& high = next == all.end() ? all.back() : *next;
  const MeasuredTransfer& low = next == all.end() ? all[all.size() - 2] : *(next - 1);
  const double share = (bytes - size_of(low)) / (size_of(high) - size_of(low));
  // Beyond the largest size its relative error stays.
  const double error = next == all.end() ? high.cost.error / high.cost.time : 0.0;
  const Nanoseconds time = low.cost.time + (high.cost.time - low.cost.time) * share;
  if (next == all.end()) return {std::max(time, high.cost.time), std::max(time, high.cost.time) * error};
  return {time, low.cost.error + (high.cost.error - low.cost.error) * share};
}

}  // namespace

std::string_view to_string(Exchange exchange) {
  switch (exchange) {
    case Exchange::all_reduce: return "all-reduce";
    case Exchange::reduce_scatter: return "reduce-scatter";
    case Exchange::all_gather: return "all-gather";
    case Exchange::send: return "send";
  }
  return "";
}

double sent_share(Exchange exchange, std::int64_t ranks) {
  const double others = static_cast<double>(ranks - 1) / static_cast<double>(ranks);
  switch (exchange) {
    case Exchange::all_reduce: return 2.0 * others;
    case Exchange::reduce_scatter:
    case Exchange::all_gather: return others;
    case Exchange::send: return 1.0;
  }
  return 1.0;
}

AlphaBeta fit_alpha_beta(const MeasuredTransfers& measured) {
  // Weighted by 1/time², a small size counts as much as a large one: 1 = alpha/t + x/(beta t).
  double aa = 0, ab = 0, bb = 0, a = 0, b = 0;
  const double share = sent_share(measured.exchange, measured.ranks);
  for (const MeasuredTransfer& each : measured.transfers) {
    const double t = each.cost.time.value(), u = 1.0 / t,
                 v = share * static_cast<double>(each.bytes.value()) / t;
    aa += u * u;
    ab += u * v;
    bb += v * v;
    a += u;
    b += v;
  }
  const double determinant = aa * bb - ab * ab;
  AlphaBeta fit;
  double slope = bb > 0 ? b / bb : 0.0, alpha = 0.0;
  if (measured.transfers.size() > 1 && determinant > 1e-12 * aa * bb) {
    alpha = (a * bb - b * ab) / determinant;
    slope = (aa * b - ab * a) / determinant;
    if (alpha < 0) {
      alpha = 0;
      slope = b / bb;
    }
  }
  fit.alpha = Nanoseconds(alpha);
  fit.beta = slope > 0 ? 1e9 / slope : 0.0;
  for (const MeasuredTransfer& each : measured.transfers) {
    const double line = alpha + slope * share * static_cast<double>(each.bytes.value());
    fit.distance = std::max(fit.distance, std::abs(line / each.cost.time.value() - 1.0));
  }
  return fit;
}

GroupPlace place_of_group(std::int64_t ranks, std::int64_t stride, std::int64_t of_host) {
  const std::int64_t together = std::clamp<std::int64_t>(of_host / stride, 1, ranks);
  return {ranks, (ranks + together - 1) / together};
}

TransferCosts::TransferCosts(std::vector<MeasuredTransfers> measured, std::optional<StatedNetwork> network)
    : measured_(std::move(measured)), network_(network) {
  std::erase_if(measured_, [](const MeasuredTransfers& each) { return each.transfers.empty(); });
  for (MeasuredTransfers& each : measured_) std::ranges::sort(each.transfers, {}, &MeasuredTransfer::bytes);
}

TransferCosts TransferCosts::drawn(double deviations) const {
  TransferCosts result = *this;
  result.deviations_ = deviations;
  return result;
}

std::int64_t TransferCosts::most_ranks_measured() const {
  std::int64_t most = 0;
  for (const MeasuredTransfers& each : measured_) most = std::max(most, each.ranks);
  return most;
}

// The measured number of ranks that is nearest, the larger of two equally near.
const MeasuredTransfers* TransferCosts::best(Exchange exchange, std::int64_t ranks) const {
  const MeasuredTransfers* best = nullptr;
  const auto distance = [&](const MeasuredTransfers& each) {
    return std::abs(std::log2(static_cast<double>(each.ranks) / static_cast<double>(ranks)));
  };
  for (const MeasuredTransfers& each : measured_)
    if (each.exchange == exchange && (best == nullptr || distance(each) <= distance(*best))) best = &each;
  return best;
}

Cost TransferCosts::within_host(Exchange exchange, Bytes bytes, std::int64_t ranks) const {
  const double sent = sent_share(exchange, ranks) * static_cast<double>(bytes.value());
  if (const MeasuredTransfers* measured = best(exchange, ranks)) {
    Cost cost = interpolated(*measured, sent / sent_share(exchange, measured->ranks));
    if (measured->ranks != ranks && exchange != Exchange::send) {
      const AlphaBeta fit = fit_alpha_beta(*measured);
      const double base = std::max(doublings(measured->ranks), 1.0);
      cost.time += fit.alpha * ((doublings(ranks) - doublings(measured->ranks)) / base);
      cost.time = std::max(cost.time, fit.alpha / base);
    }
    return cost;
  }
  // Half of an all-reduce, as far as is known; a send is as fast as its links.
  if (const MeasuredTransfers* all_reduce = best(Exchange::all_reduce, ranks)) {
    if (exchange == Exchange::send) {
      const AlphaBeta fit = fit_alpha_beta(*all_reduce);
      return {fit.alpha + seconds(fit.beta > 0 ? sent / fit.beta : 0.0), {}};
    }
    const Cost whole = within_host(Exchange::all_reduce, bytes, ranks);
    return {whole.time * 0.5, whole.error * 0.5};
  }
  return between_hosts(exchange, static_cast<double>(bytes.value()), ranks);
}

Cost TransferCosts::between_hosts(Exchange exchange, double bytes, std::int64_t hosts) const {
  if (!network_)
    throw UsageError(
        "what an exchange costs is known within one host alone; say what lies between hosts, as in --network "
        "alpha=10us,beta=50GB, and how many GPUs a host has, as in --gpus-per-host 8");
  const double steps = exchange == Exchange::send ? 1.0 : std::max(doublings(hosts), 1.0);
  const double factor = exchange == Exchange::all_reduce ? 2.0 : 1.0;  // there and back
  return {network_->alpha * (steps * factor) + seconds(sent_share(exchange, hosts) * bytes / network_->beta),
          {}};
}

Cost TransferCosts::cost(Exchange exchange, Bytes bytes, const GroupPlace& place) const {
  if (place.hosts == 1) return within_host(exchange, bytes, place.ranks);
  if (exchange == Exchange::send)
    return between_hosts(exchange, static_cast<double>(bytes.value()), place.hosts);
  Cost cost = between_hosts(
      exchange, static_cast<double>(bytes.value()) / static_cast<double>(place.of_host()), place.hosts);
  if (place.of_host() > 1) cost += within_host(exchange, bytes, place.of_host());
  return cost;
}

}  // namespace jitterscope::plan
