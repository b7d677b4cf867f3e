#include "plan/network_costs.hpp"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "jitterscope/error.hpp"

namespace jitterscope::plan {

Cost forward_of(const NetworkCosts& network) {
  Cost sum;
  for (const LayerCosts& layer : network.layers) sum += layer.forward;
  return sum;
}

Cost backward_of(const NetworkCosts& network) {
  Cost sum;
  for (const LayerCosts& layer : network.layers) sum += layer.backward;
  return sum;
}

Bytes weights_of(const NetworkCosts& network) {
  Bytes sum;
  for (const LayerCosts& layer : network.layers) sum += layer.weights;
  return sum;
}

NetworkCosts drawn(const NetworkCosts& network, double deviations) {
  NetworkCosts result = network;
  for (LayerCosts& layer : result.layers) {
    layer.forward = {layer.forward.at(deviations), {}};
    layer.backward = {layer.backward.at(deviations), {}};
  }
  return result;
}

NetworkCosts split_in_parts(const NetworkCosts& network, std::int64_t ranks, bool by_sequence) {
  if (ranks == 1) return network;
  if (network.heads == 0)
    throw UsageError(fmt::format(
        "{} has no attention, and tensor-parallel is planned for transformers alone; leave it out",
        network.name));
  if (network.heads % ranks != 0)
    throw UsageError(
        fmt::format("{} heads of {} cannot be dealt out to {} tensor-parallel ranks; take a divisor",
                    network.heads, network.name, ranks));
  // In a block whose products are cut, the rest follows the sequence.
  std::vector<bool> is_cut(network.blocks(), false);
  for (const LayerCosts& layer : network.layers)
    if (layer.is_split) is_cut[layer.block] = true;
  NetworkCosts result = network;
  const double part = 1.0 / static_cast<double>(ranks);
  const auto shorten = [&](Cost& cost) { cost = {cost.time * part, cost.error * part}; };
  for (LayerCosts& layer : result.layers) {
    const bool follows_sequence = by_sequence && is_cut[layer.block];
    if (layer.is_split) layer.weights = Bytes((layer.weights.value() + ranks - 1) / ranks);
    if (!layer.is_split && !follows_sequence) continue;
    shorten(layer.forward);
    shorten(layer.backward);
    layer.activations = Bytes((layer.activations.value() + ranks - 1) / ranks);
  }
  return result;
}

namespace {

// The smallest bound under which `sizes` make at most so many runs, and the runs.
std::vector<std::size_t> cut_evenly(std::span<const double> sizes, std::size_t stages) {
  // Fills each stage up to the bound, but leaves a block for each stage that is still to come.
  const auto cut_at = [&](double bound) {
    std::vector<std::size_t> firsts = {0};
    double sum = 0.0;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      const bool must = sizes.size() - i == stages - firsts.size() && i > firsts.back();
      if (i > firsts.back() && (sum + sizes[i] > bound || must)) {
        firsts.push_back(i);
        sum = 0.0;
      }
      sum += sizes[i];
    }
    firsts.push_back(sizes.size());
    return firsts;
  };
  double low = 0.0, high = std::accumulate(sizes.begin(), sizes.end(), 0.0);
  constexpr int kHalvings = 60;
  for (int i = 0; i < kHalvings; ++i) {
    const double middle = 0.5 * (low + high);
    const std::vector<std::size_t> firsts = cut_at(middle);
    double largest = 0.0;
    for (std::size_t s = 0; s + 1 < firsts.size(); ++s)
      largest =
          std::max(largest, std::accumulate(sizes.begin() + static_cast<std::ptrdiff_t>(firsts[s]),
                                            sizes.begin() + static_cast<std::ptrdiff_t>(firsts[s + 1]), 0.0));
    (firsts.size() - 1 <= stages && largest <= middle ? high : low) = middle;
  }
  return cut_at(high);
}

}  // namespace

std::vector<std::size_t> cut_into_stages(const NetworkCosts& network, std::size_t stages, StageCut cut) {
  const std::size_t blocks = network.blocks();
  if (stages == 0 || stages > blocks)
    throw UsageError(fmt::format("{} can be cut between {} blocks, so into {} stages at most, not {}",
                                 network.name, blocks, blocks, stages));
  std::vector<std::size_t> firsts;
  if (cut == StageCut::layers) {
    for (std::size_t s = 0; s <= stages; ++s) firsts.push_back(s * blocks / stages);
    return firsts;
  }
  std::vector<double> sizes(blocks, 0.0);
  for (const LayerCosts& layer : network.layers)
    sizes[layer.block] += cut == StageCut::time
                              ? (layer.forward.time + layer.backward.time).value()
                              : static_cast<double>((layer.weights + layer.activations).value());
  return cut_evenly(sizes, stages);
}

std::vector<StageCosts> stages_of(const NetworkCosts& network, std::span<const std::size_t> first_blocks) {
  std::vector<StageCosts> stages(first_blocks.size() - 1);
  for (const LayerCosts& layer : network.layers) {
    const auto next = std::ranges::upper_bound(first_blocks, layer.block);
    StageCosts& stage = stages[static_cast<std::size_t>(next - first_blocks.begin()) - 1];
    stage.forward += layer.forward;
    stage.backward += layer.backward;
    stage.forward_launch += layer.forward_launch;
    stage.backward_launch += layer.backward_launch;
    stage.weights += layer.weights;
    stage.activations += layer.activations;
    if (layer.output.value() > 0) stage.output = layer.output;
    if (layer.reduced_forward.value() > 0) stage.reduced_forward.push_back(layer.reduced_forward);
    if (layer.reduced_backward.value() > 0) stage.reduced_backward.push_back(layer.reduced_backward);
  }
  return stages;
}

}  // namespace jitterscope::plan
