// The time and memory of a network's layers on one GPU, and how they are cut: into stages, and within a
// layer.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "jitterscope/units.hpp"
#include "plan/step_plan.hpp"

namespace jitterscope::plan {

/// A time with half of its 95 % interval.
struct Cost {
  Nanoseconds time, error;
  Cost& operator+=(const Cost& other) {
    time += other.time;
    error += other.error;  // all layers share the clock and the instrument: their errors add up
    return *this;
  }
  /// The time at so many standard deviations.
  Nanoseconds at(double deviations) const {
    constexpr double kOfInterval = 1.959964;
    const Nanoseconds drawn = time + error * (deviations / kOfInterval);
    return drawn > Nanoseconds(0) ? drawn : Nanoseconds(0);
  }
};

/// A module of the network, for one micro-batch.
struct LayerCosts {
  std::string name;
  std::size_t block = 0;  ///< a network is cut between blocks alone; blocks are numbered without gaps
  Cost forward = {}, backward = {};
  Nanoseconds forward_launch = {}, backward_launch = {};  ///< the host's time
  Bytes weights = {};                                     ///< as stored; the gradients have the same size
  Bytes activations = {};         ///< written by its forward pass and read by a backward pass
  Bytes output = {};              ///< what later blocks read, if it ends a block
  bool is_split = false;          ///< tensor-parallel cuts it: a product, attention, what lies between them
  bool follows_sequence = false;  ///< it is the rest of a block, cut by the sequence where that is asked for
  Bytes reduced_forward = {};     ///< all-reduced after its forward pass where it is cut
  Bytes reduced_backward = {};    ///< all-reduced after its backward pass
  /// All-gathered before its pass where the rest is cut by the sequence: it lies outside of the blocks, and
  /// each rank computes all of it.
  Bytes gathered_forward = {}, gathered_backward = {};
};

struct NetworkCosts {
  std::string name;
  std::vector<LayerCosts> layers = {};  ///< in the order of the forward pass
  std::int64_t samples = 1;             ///< of a micro-batch, which is the record's batch
  std::int64_t heads = 0;             ///< of attention, which tensor-parallel deals out; 0: it cannot be cut
  std::int64_t element_bytes = 2;     ///< of a gradient
  std::int64_t optimizer_bytes = 12;  ///< of an optimizer's state, for each weight
  double copy_rate = 0;               ///< bytes/s that memory reads and writes in sum; 0: not known

  std::size_t blocks() const { return layers.empty() ? 0 : layers.back().block + 1; }
};

Cost forward_of(const NetworkCosts& network);
Cost backward_of(const NetworkCosts& network);
Bytes weights_of(const NetworkCosts& network);
/// Weights of layers that follow the sequence: where it is cut, each rank has a part of their gradients' sum.
Bytes weights_by_sequence(const NetworkCosts& network);
/// The same network, with all times at so many standard deviations from their estimates, and no errors.
NetworkCosts drawn(const NetworkCosts& network, double deviations);

/// The network as one of `ranks` tensor-parallel ranks has it: products and attention at 1/ranks, and what
/// lies between them. `by_sequence`: all else of a block at 1/ranks, too; each all-reduce is then a
/// reduce-scatter, and an all-gather before the next products. Throws UsageError if the heads cannot be dealt
/// out.
NetworkCosts split_in_parts(const NetworkCosts& network, std::int64_t ranks, bool by_sequence);

enum class StageCut { layers, time, memory };
/// Returns for each stage its first block, and the number of blocks as the last. Stages are equal in their
/// number of blocks, or so that the largest is as small as it can be in time, or in weights and activations.
/// Throws UsageError if there are fewer blocks than stages.
std::vector<std::size_t> cut_into_stages(const NetworkCosts& network, std::size_t stages, StageCut cut);

/// A part of the network that one rank holds.
struct StageCosts {
  LayerRange layers = {};
  Cost forward, backward;
  Nanoseconds forward_launch = {}, backward_launch = {};
  Bytes weights, activations;
  Bytes output;  ///< to the next stage; its gradient comes back
  std::vector<Bytes> reduced_forward = {}, reduced_backward = {};
  Bytes gathered_forward = {}, gathered_backward = {};
  Bytes weights_by_sequence = {};  ///< those of layers that follow the sequence
};
std::vector<StageCosts> stages_of(const NetworkCosts& network, std::span<const std::size_t> first_blocks);

}  // namespace jitterscope::plan
