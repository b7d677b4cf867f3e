#include "plan/network_costs.hpp"

#include <algorithm>
#include <limits>
#include <utility>

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

Bytes weights_by_sequence(const NetworkCosts& network) {
  Bytes sum;
  for (const LayerCosts& layer : network.layers)
    if (layer.follows_sequence) sum += layer.weights;
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
  NetworkCosts result = network;
  const double part = 1.0 / static_cast<double>(ranks);
  const auto shorten = [&](Cost& cost) { cost = {cost.time * part, cost.error * part}; };
  for (LayerCosts& layer : result.layers) {
    if (layer.is_split) layer.weights = Bytes((layer.weights.value() + ranks - 1) / ranks);
    if (!layer.is_split && !(by_sequence && layer.follows_sequence)) continue;
    shorten(layer.forward);
    shorten(layer.backward);
    layer.activations = Bytes((layer.activations.value() + ranks - 1) / ranks);
    // The gathered whole is kept for the gradient of the weights, beside the own part of it.
    if (by_sequence) layer.activations += Bytes(layer.reduced_backward.value() * (ranks - 1) / ranks);
  }
  return result;
}

namespace {

// The largest run is as small as it can be, and of equal such cuts the one with the smallest squares. Best
// cuts of the first blocks into ever more stages, each from those into one less.
std::vector<std::size_t> cut_evenly(std::span<const double> sizes, std::size_t stages) {
  struct Cut {
    double largest = std::numeric_limits<double>::infinity(), squares = 0.0;
    std::size_t last = 0;  // first block of the last stage
    auto rank() const { return std::pair(largest, squares); }
  };
  std::vector<double> sums = {0.0};
  for (const double size : sizes) sums.push_back(sums.back() + size);
  const std::size_t blocks = sizes.size();
  std::vector<std::vector<Cut>> best(stages + 1, std::vector<Cut>(blocks + 1));
  best[0][0].largest = 0.0;
  for (std::size_t stage = 1; stage <= stages; ++stage) {
    for (std::size_t end = stage; end + (stages - stage) <= blocks; ++end) {
      for (std::size_t first = end; first-- > stage - 1;) {
        const Cut& before = best[stage - 1][first];
        const double size = sums[end] - sums[first];
        if (size > best[stage][end].largest) break;  // it only grows
        const Cut cut{std::max(before.largest, size), before.squares + size * size, first};
        if (cut.rank() < best[stage][end].rank()) best[stage][end] = cut;
      }
    }
  }
  std::vector<std::size_t> firsts = {blocks};
  for (std::size_t stage = stages; stage > 0; --stage) firsts.push_back(best[stage][firsts.back()].last);
  std::ranges::reverse(firsts);
  return firsts;
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
  for (std::size_t l = 0; l < network.layers.size(); ++l) {
    const LayerCosts& layer = network.layers[l];
    const auto next = std::ranges::upper_bound(first_blocks, layer.block);
    StageCosts& stage = stages[static_cast<std::size_t>(next - first_blocks.begin()) - 1];
    if (stage.layers.end == 0) stage.layers.begin = l;
    stage.layers.end = l + 1;
    stage.forward += layer.forward;
    stage.backward += layer.backward;
    stage.forward_launch += layer.forward_launch;
    stage.backward_launch += layer.backward_launch;
    stage.weights += layer.weights;
    stage.activations += layer.activations;
    if (layer.output.value() > 0) stage.output = layer.output;
    if (layer.reduced_forward.value() > 0) stage.reduced_forward.push_back(layer.reduced_forward);
    if (layer.reduced_backward.value() > 0) stage.reduced_backward.push_back(layer.reduced_backward);
    stage.gathered_forward += layer.gathered_forward;
    stage.gathered_backward += layer.gathered_backward;
    if (layer.follows_sequence) stage.weights_by_sequence += layer.weights;
  }
  return stages;
}

}  // namespace jitterscope::plan
